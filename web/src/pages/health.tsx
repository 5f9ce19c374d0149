// Health: what is wrong with the memory or its setup, each with its hint and command.

import { offer } from "../acts/act";
import { ARCHIVE, PRUNE, VERIFY } from "../acts/offers";
import { info } from "../core/api";
import { useVerb } from "../core/loader";
import { count } from "../core/time";
import type { Output } from "../core/types";
import { Answer, Badge, CommandLine, Fields, PageHead, Panel } from "../ui/parts";
import { Inline } from "../ui/markdown";
import { Status } from "../ui/records";

type Finding = Output<"doctor">["findings"][number];

const GRAVEST: Record<string, number> = { bad: 0, warn: 1, ok: 2 };

export function Health() {
  const doctor = useVerb("doctor", {}, ["config", "guard", "head"]);
  const status = useVerb("status", {}, "all");
  const knowledge = useVerb("knowledge_check", {}, ["knowledge"]);
  return (
    <>
      <PageHead title="Health" note={doctor.data.value?.summary}>
        <button type="button" onClick={() => offer([VERIFY])}>
          Verify…
        </button>
        <button type="button" onClick={() => offer([ARCHIVE])}>
          Archive…
        </button>
        <button type="button" onClick={() => offer([PRUNE])}>
          Prune the graph…
        </button>
      </PageHead>
      <div class="columns">
        <div class="stack">
          <Answer of={doctor}>
            {({ findings }) => {
              const troubles = findings
                .filter((one) => one.status !== "ok")
                .sort((a, b) => (GRAVEST[a.status] ?? 0) - (GRAVEST[b.status] ?? 0));
              const fine = findings.filter((one) => one.status === "ok");
              return (
                <>
                  <Panel title="To look at" count={troubles.length}>
                    {troubles.length === 0 && (
                      <p class="note">
                        <Badge tone="good">healthy</Badge> Nothing is wrong with the setup.
                      </p>
                    )}
                    <ul class="rows">
                      {troubles.map((one) => (
                        <FindingRow key={one.area + one.name} finding={one} />
                      ))}
                    </ul>
                  </Panel>
                  <details class="panel">
                    <summary>
                      Fine <span class="muted">{count(fine.length, "check")}</span>
                    </summary>
                    <ul class="rows">
                      {fine.map((one) => (
                        <FindingRow key={one.area + one.name} finding={one} />
                      ))}
                    </ul>
                  </details>
                </>
              );
            }}
          </Answer>
        </div>
        <div class="stack">
          <Team of={doctor} />
          <Memory of={status} />
          <Panel title="Reviewed graph">
            <Answer of={knowledge}>
              {({ valid, errors, warnings, nodes, edges, file }) => (
                <>
                  <p class="note">
                    <Badge tone={valid ? "good" : "grave"}>{valid ? "valid" : "errors"}</Badge>{" "}
                    <span>
                      {count(nodes, "node")}, {count(edges, "edge")} in <code>{file}</code>
                    </span>
                  </p>
                  <ul class="rows">
                    {[...errors, ...warnings].map((one) => (
                      <li class="row" key={`${one.line}:${one.column}:${one.message}`}>
                        <code>
                          {one.line}:{one.column}
                        </code>
                        <div class="row-main">
                          <Inline text={one.message} />
                          {one.suggestion && (
                            <div class="row-below">
                              <Inline text={one.suggestion} />
                            </div>
                          )}
                        </div>
                      </li>
                    ))}
                  </ul>
                </>
              )}
            </Answer>
          </Panel>
          <Panel title="As a file">
            <div class="pad stack-small">
              <p>The whole memory as one page that needs no server.</p>
              <CommandLine text="twining export html" />
              <p class="muted">twining {info.value?.version}</p>
            </div>
          </Panel>
        </div>
      </div>
    </>
  );
}

/** The team's log of a linked clone: when it answered, and what waits since when. */
function Team({ of }: { of: ReturnType<typeof useVerb<"doctor">> }) {
  const findings = of.data.value?.findings.filter((one) => one.name === "team") ?? [];
  if (findings.length === 0) return null;
  return (
    <Panel title="Team">
      <ul class="rows">
        {findings.map((one) => (
          <FindingRow key={one.message} finding={one} />
        ))}
      </ul>
    </Panel>
  );
}

function FindingRow({ finding }: { finding: Finding }) {
  return (
    <li class="row">
      <Status of={finding.status}>
        {finding.status === "bad" ? "wrong" : finding.status === "warn" ? "look" : "fine"}
      </Status>
      <div class="row-main">
        <Inline text={finding.message} />
        <div class="row-below">
          <span class="muted">
            {finding.area} · {finding.name}
          </span>
          {finding.hint && (
            <p>
              <Inline text={finding.hint} />
            </p>
          )}
          {finding.command && <CommandLine text={finding.command} />}
        </div>
      </div>
    </li>
  );
}

function Memory({ of }: { of: ReturnType<typeof useVerb<"status">> }) {
  return (
    <Panel title="Memory">
      <Answer of={of}>
        {(status) => (
          <>
            <ul class="rows">
              {(status.warnings ?? []).map((one) => (
                <li class="row" key={one.code}>
                  <Badge tone="blocking">look</Badge>
                  <div class="row-main">
                    <Inline text={one.message} />
                    <div class="row-below">
                      <Inline text={one.hint} />
                    </div>
                  </div>
                </li>
              ))}
              {(status.unreadable ?? []).map((one) => (
                <li class="row" key={`${one.file}:${one.line ?? ""}`}>
                  <Badge tone="grave">unreadable</Badge>
                  <div class="row-main">
                    <code>
                      {one.file}
                      {one.line ? `:${one.line}` : ""}
                    </code>
                    <div class="row-below">{one.why}</div>
                  </div>
                </li>
              ))}
            </ul>
            <div class="pad">
              <Fields
                rows={[
                  [
                    "Decisions",
                    `${status.active_decisions} active, ${status.provisional_decisions} provisional, ${status.superseded_decisions} superseded, ${status.overridden_decisions} overridden`,
                  ],
                  ["Entries", status.blackboard_entries.toLocaleString("en")],
                  [
                    "Open",
                    `${count(status.open_needs, "need")}, ${count(status.unanswered_questions, "question")}, ${count(status.open_warnings, "warning")}`,
                  ],
                  [
                    "Graph",
                    `${count(status.graph_entities, "entity", "entities")}, ${count(status.graph_relations, "relation")}`,
                  ],
                  ["Unconnected", status.disconnected_entities || undefined],
                  ["Search", status.search],
                ]}
              />
            </div>
          </>
        )}
      </Answer>
    </Panel>
  );
}
