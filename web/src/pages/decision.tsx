// One decision: what it says, what rests on it; where it is contested, both sides and the choice.

import { useEffect } from "preact/hooks";
import { actsOf, chosenActs, offer, type Act } from "../acts/act";
import { decideAnew, overrideDecision, promoteDecision, reconsiderDecision } from "../acts/offers";
import { useKeys } from "../core/keys";
import { useVerb } from "../core/loader";
import { clock } from "../core/time";
import type { Decision, Output } from "../core/types";
import { Age, Answer, Badge, CommandLine, PageHead, Panel, RowLink } from "../ui/parts";
import { ActButtons, DecisionBody, EntryType, Paths, Status } from "../ui/records";
import { NotFound, useFullId } from "./find-id";

export function DecisionPage({ id }: { id: string }) {
  const found = useFullId(id, "d");
  return found.isMissing ? (
    <NotFound id={id} what="decision" />
  ) : found.id ? (
    <Whole id={found.id} />
  ) : (
    <PageHead title="Decision" />
  );
}

function Whole({ id }: { id: string }) {
  const waiting = useVerb(
    "waiting",
    { kinds: ["contested", "merge_clash", "claimed_override"], limit: 50 },
    ["decision"],
  );
  const item = waiting.data.value?.items.find((one) =>
    one.subjects.some((subject) => subject.id === id),
  );
  const others = item?.subjects.map((subject) => subject.id).filter((other) => other !== id) ?? [];
  const records = useVerb("read", { ids: [id, ...others] }, ["decision"]);
  const impact = useVerb("impact", { decision_id: id }, ["decision", "entry"]);
  const all = records.data.value?.decisions ?? [];
  const decision = all.find((one) => one.id === id);
  const rivals = others
    .map((other) => all.find((one) => one.id === other))
    .filter((one) => one !== undefined);
  const acts = item ? actsOf(item) : decision ? actsOfDecision(decision) : [];
  useEffect(() => {
    chosenActs.value = acts;
    return () => void (chosenActs.value = []);
  }, [acts.map((act) => act.title).join()]);
  useKeys({ s: () => offer(acts) });

  if (!decision) {
    return records.data.value ? (
      <NotFound id={id} what="decision" />
    ) : (
      <>
        <PageHead title="Decision" trail={[["Decisions", "/decisions"]]} />
        <Answer of={records}>{() => null}</Answer>
      </>
    );
  }
  return (
    <>
      <PageHead
        trail={[
          ["Decisions", "/decisions"],
          [
            decision.domain || "no domain",
            `/decisions?domain=${encodeURIComponent(decision.domain)}`,
          ],
          [decision.scope, `/decisions?scope=${encodeURIComponent(decision.scope)}`],
        ]}
        title={decision.summary}
        badge={
          item ? (
            <Badge tone={item.gravity}>
              {item.kind.replaceAll("_", " ")}
              {item.since ? ` since ${clock(item.since)}` : ""}
            </Badge>
          ) : (
            <Status of={decision.status} />
          )
        }
        note={item?.why_you}
      >
        {item ? (
          acts.map((act, i) => (
            <button
              key={act.label}
              type="button"
              class={i === 0 ? "primary" : ""}
              onClick={() => offer(acts, i)}
            >
              {act.label}…
            </button>
          ))
        ) : (
          <ActButtons acts={acts} />
        )}
      </PageHead>
      <div class={rivals.length > 0 ? "columns even" : "columns"}>
        <Side decision={decision} rests={impact.data.value?.rests_on_it} />
        {rivals.map((rival) => (
          <Side
            key={rival.id}
            decision={rival}
            rests={item?.subjects.find((subject) => subject.id === rival.id)?.rests_on_it ?? ""}
            isRival
          />
        ))}
        {rivals.length === 0 && <Impact of={impact.data.value} />}
      </div>
      {rivals.length > 0 && <Impact of={impact.data.value} />}
      <History decision={decision} />
    </>
  );
}

function Side({
  decision,
  rests,
  isRival,
}: {
  decision: Decision;
  rests: string | undefined;
  isRival?: boolean;
}) {
  return (
    <section class="panel" aria-label={decision.summary}>
      <div class="panel-head">
        <h2>{isRival ? <a href={`/d/${decision.id}`}>{decision.summary}</a> : decision.summary}</h2>
        <Status of={decision.status} />
      </div>
      <div class="pad">
        <DecisionBody decision={decision} restsOnIt={rests} />
      </div>
    </section>
  );
}

function Impact({ of }: { of: Output<"impact"> | undefined }) {
  if (!of) return null;
  const { dependents = [], entries = [], affected_files: files = [], entities = [] } = of;
  return (
    <Panel title="Impact" count={of.risk + " risk"}>
      <p class="note">{of.summary}</p>
      <ul class="rows">
        {dependents.map((one) => (
          <RowLink key={one.id} href={`/d/${one.id}`} lead={<Status of={one.status} />}>
            {one.summary}
          </RowLink>
        ))}
        {entries.map((one) => (
          <RowLink key={one.id} href={`/e/${one.id}`} lead={<EntryType type={one.entry_type} />}>
            {one.summary}
          </RowLink>
        ))}
      </ul>
      {files.length > 0 && (
        <div class="pad">
          <Paths paths={files} />
        </div>
      )}
      {entities.length > 0 && (
        <p class="note">
          {entities.map((entity) => (
            <>
              <a key={entity.id} class="tag" href={`/n/${encodeURIComponent(entity.name)}`}>
                {entity.name}
              </a>{" "}
            </>
          ))}
        </p>
      )}
    </Panel>
  );
}

function History({ decision }: { decision: Decision }) {
  if (!decision.history?.length) return null;
  return (
    <Panel title="History" count={decision.history.length}>
      <ul class="rows">
        {decision.history.map((change) => (
          <li class="row" key={change.at + change.status}>
            <Status of={change.status} />
            <div class="row-main">{change.reason}</div>
            <div class="row-side">
              {change.by} <Age at={change.at} />
            </div>
          </li>
        ))}
      </ul>
      <div class="pad">
        <CommandLine text={`twining trace ${decision.id}`} />
      </div>
    </Panel>
  );
}

function actsOfDecision(decision: Decision): Act[] {
  if (decision.status === "active")
    return [reconsiderDecision(decision), overrideDecision(decision)];
  if (decision.status === "provisional")
    return [promoteDecision(decision), overrideDecision(decision)];
  return [
    decideAnew({
      summary: decision.summary,
      detail: decision.rationale,
      scope: decision.scope,
      domain: decision.domain,
    }),
  ];
}
