// Features: what is to be built, and whether anything shows that it works.

import { useEffect } from "preact/hooks";
import { chosenActs, offer } from "../acts/act";
import { reopenFeature } from "../acts/offers";
import { useKeys } from "../core/keys";
import { useVerb } from "../core/loader";
import { place, setQuery } from "../core/router";
import { count } from "../core/time";
import type { Feature } from "../core/types";
import { Chips } from "../ui/controls";
import {
  Age,
  AgentLink,
  Answer,
  Badge,
  Clock,
  CommandLine,
  Empty,
  PageHead,
  Panel,
  RowLink,
  type Tone,
} from "../ui/parts";
import { Markdown } from "../ui/markdown";
import { ActButtons, Paths, Status } from "../ui/records";

const STATUSES = ["pending", "in_progress", "completed", "tested", "blocked"] as const;
const EVIDENCE: Record<string, [Tone, string]> = {
  fresh: ["good", "fresh evidence"],
  stale: ["blocking", "stale evidence"],
  none: ["minor", "no evidence"],
};
const FILE_STATES: Record<string, [Tone, string]> = {
  as_run_saw: ["good", "as the run saw it"],
  changed: ["blocking", "changed since the run"],
  missing: ["grave", "missing"],
  no_run: ["minor", "no run saw it"],
};
const GRADES: Record<string, string> = {
  told: "told by the agent",
  seen: "seen by the host",
  ci: "from CI",
};
/** What gates are asked for: features do not carry a task type. */
const TASK = { task_type: "feature", complexity: 5 };

export function Features() {
  const status = place.value.query.get("status") ?? "";
  const wanted = STATUSES.find((one) => one === status);
  const features = useVerb("features", { limit: 500, ...(wanted && { status: wanted }) }, [
    "feature",
  ]);
  const next = useVerb("next", {}, ["feature"]);
  const counts = features.data.value?.counts;
  return (
    <>
      <PageHead
        title="Features"
        note={next.data.value && `Next: ${next.data.value.say ?? next.data.value.action}`}
      />
      <div class="filters">
        <Chips
          label="Status"
          single
          options={STATUSES.map((one) => [
            one,
            `${one.replaceAll("_", " ")} ${counts?.[one] ?? ""}`,
          ])}
          chosen={[status]}
          onChange={([one]) => setQuery({ status: one })}
        />
      </div>
      <Panel title="Features listed" count={features.data.value?.total}>
        <Answer of={features}>
          {({ features, problems = [] }) => (
            <>
              {problems.map((problem) => (
                <p class="note" key={problem}>
                  <Badge tone="blocking">problem</Badge> {problem}
                </p>
              ))}
              {features.length === 0 && (
                <Empty command={'twining features add F1 --description "what is to be built"'}>
                  No feature is listed. What is to be built, and whether it is tested, appears here.
                </Empty>
              )}
              <ul class="rows">
                {features.map((feature) => (
                  <FeatureRow key={feature.id} feature={feature} />
                ))}
              </ul>
            </>
          )}
        </Answer>
      </Panel>
    </>
  );
}

function FeatureRow({ feature }: { feature: Feature }) {
  const evidence = feature.evidence && EVIDENCE[feature.evidence.state];
  return (
    <RowLink
      href={`/f/${encodeURIComponent(feature.id)}`}
      lead={<Status of={feature.status} />}
      side={evidence && <Badge tone={evidence[0]}>{evidence[1]}</Badge>}
      below={feature.evidence?.because}
    >
      <b>{feature.id}</b> {feature.description}
    </RowLink>
  );
}

export function FeaturePage({ id }: { id: string }) {
  const features = useVerb("features", { id }, ["feature"]);
  const next = useVerb("next", {}, ["feature"]);
  const agents = useVerb("agents", {}, ["claim", "presence"]);
  const feature = features.data.value?.features[0];
  const acts =
    feature && feature.status !== "pending" && feature.status !== "in_progress"
      ? [reopenFeature(feature)]
      : [];
  const claim = agents.data.value?.claims?.find((one) => one.feature === id);
  useEffect(() => {
    chosenActs.value = acts;
    return () => void (chosenActs.value = []);
  }, [feature?.status]);
  useKeys({ s: () => offer(acts), r: () => offer(acts) });
  const nextStep = next.data.value?.feature === id && `Next: ${next.data.value.say}`;
  return (
    <>
      <PageHead
        trail={[["Features", "/features"]]}
        title={feature ? `${feature.id} ${feature.description}` : id}
        badge={
          feature && (
            <Status of={feature.status}>
              {feature.status.replaceAll("_", " ")}
              {feature.status === "completed" ? ", not tested" : ""}
            </Status>
          )
        }
        note={[feature?.evidence?.because, nextStep].filter(Boolean).join(" · ")}
      >
        <ActButtons acts={acts} />
      </PageHead>
      <Answer of={features}>
        {() =>
          feature && (
            <div class="columns">
              <div class="stack">
                <Evidence feature={feature} />
                <Files feature={feature} />
              </div>
              <div class="stack">
                <Panel title="Criteria" count={feature.acceptance_criteria?.length ?? 0}>
                  {feature.acceptance_criteria?.length ? (
                    <ul class="bullets">
                      {feature.acceptance_criteria.map((one) => (
                        <li key={one}>{one}</li>
                      ))}
                    </ul>
                  ) : (
                    <p class="note muted">None is listed.</p>
                  )}
                </Panel>
                <Panel title="Stands">
                  <div class="pad stack-small">
                    {claim && (
                      <p>
                        Held by <AgentLink name={claim.agent_id} /> until <Clock at={claim.until} />
                      </p>
                    )}
                    {feature.depends_on?.length ? (
                      <p>
                        Waits for{" "}
                        {feature.depends_on.map((one) => (
                          <>
                            <a key={one} href={`/f/${encodeURIComponent(one)}`}>
                              {one}
                            </a>{" "}
                          </>
                        ))}
                      </p>
                    ) : null}
                    <p>
                      {feature.retries === 0
                        ? "No test failed since it was opened."
                        : `${count(feature.retries, "test run")} failed since it was opened.`}
                    </p>
                    {feature.need && (
                      <p>
                        <a href={`/e/${feature.need}`}>What it asks a person</a>
                      </p>
                    )}
                  </div>
                </Panel>
                <Gates />
                <Turns feature={id} />
              </div>
            </div>
          )
        }
      </Answer>
    </>
  );
}

function Evidence({ feature }: { feature: Feature }) {
  const runs = feature.runs ?? [];
  return (
    <Panel title="Evidence" count={runs.length}>
      {runs.length === 0 && (
        <Empty
          command={`twining report ${feature.id} --role tester --outcome passed --command "cargo test" --exit-code 0`}
        >
          No run was recorded. A feature is tested when a run shows it.
        </Empty>
      )}
      <ul class="rows">
        {runs.map((run) => (
          <li class="row" key={run.id}>
            <Badge tone={run.is_evidence ? "good" : "minor"}>
              {run.is_evidence ? "evidence" : "no evidence"}
            </Badge>
            <div class="row-main">
              <code>{run.command}</code>
              <div class="row-below">
                {[
                  run.passed !== undefined && `${run.passed} passed`,
                  run.failed !== undefined && `${run.failed} failed`,
                  run.exit !== undefined && `exit ${run.exit}`,
                ]
                  .filter(Boolean)
                  .join(", ")}
                <p>{run.because}</p>
              </div>
            </div>
            <div class="row-side">
              {GRADES[run.grade] ?? run.grade} <Clock at={run.at} />
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Files({ feature }: { feature: Feature }) {
  const states = feature.file_states ?? [];
  return (
    <Panel title="Files" count={states.length || feature.files?.length || 0}>
      {states.length === 0 &&
        (feature.files?.length ? (
          <div class="pad">
            <Paths paths={feature.files} />
          </div>
        ) : (
          <p class="note muted">None is listed.</p>
        ))}
      <ul class="rows">
        {states.map(({ path, state }) => {
          const [tone, words] = FILE_STATES[state] ?? ["minor", state];
          return (
            <li class="row" key={path}>
              <div class="row-main">
                <code>{path}</code>
              </div>
              <Badge tone={tone}>{words}</Badge>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function Gates() {
  const gates = useVerb("check_gates", TASK, ["config", "feature", "turn"]);
  return (
    <Panel title="Gates" count={`${TASK.task_type}, ${TASK.complexity}`}>
      <Answer of={gates}>
        {({ gates, next = [] }) => (
          <>
            <ul class="rows">
              {gates.map((gate) => (
                <li class="row" key={gate.gate}>
                  <Status of={gate.standing} />
                  <div class="row-main">
                    {gate.gate}
                    <div class="row-below">{gate.reason}</div>
                  </div>
                </li>
              ))}
            </ul>
            {next.length > 0 && <p class="note muted">Would show it: {next.join("; ")}</p>}
          </>
        )}
      </Answer>
    </Panel>
  );
}

function Turns({ feature }: { feature: string }) {
  const turns = useVerb("turns", { feature }, ["turn"]);
  return (
    <Panel title="Turns" count={turns.data.value?.total}>
      <Answer of={turns}>
        {({ turns }) => (
          <>
            {turns.length === 0 && <p class="note muted">No coach judged it yet.</p>}
            <ul class="rows">
              {turns.map((turn) => (
                <li class="row" key={turn.id}>
                  <b>T{turn.turn_number}</b>
                  <div class="row-main">
                    {turn.coach_decision}
                    <div class="row-below">
                      <Markdown text={turn.progress_summary} />
                      {turn.blockers_found?.length ? (
                        <p>Blocked by: {turn.blockers_found.join("; ")}</p>
                      ) : null}
                    </div>
                  </div>
                  <div class="row-side">
                    <Age at={turn.completed_at ?? turn.timestamp} />
                  </div>
                </li>
              ))}
            </ul>
            <div class="pad">
              <CommandLine text={`twining turns ${feature}`} />
            </div>
          </>
        )}
      </Answer>
    </Panel>
  );
}
