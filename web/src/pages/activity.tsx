// Beside the inbox: who is at work, what happened since the last visit, how the memory is.

import { offer } from "../acts/act";
import { releaseClaim } from "../acts/offers";
import { info } from "../core/api";
import { useVerb } from "../core/loader";
import { personName, remember, remembered } from "../core/settings";
import { count, hoursAgo, now, span } from "../core/time";
import type { Agent, Claim, Output } from "../core/types";
import { Age, AgentLink, Answer, Badge, Clock, Empty, Panel, RowLink } from "../ui/parts";

const SINCE_FIRST_VISIT_HOURS = 24;
const SAME_VISIT_MS = 30 * 60_000;
/** Blocked calls that are looked through for the agents at work. */
const BLOCKED_CALLS = 50;
/** When this visit began: what is newer than the last visit stays "new" until the page is left. */
let visit: { project: string; since: string } | undefined;

export function AtWork() {
  const agents = useVerb("agents", {}, ["claim", "presence", "handoff", "feature"]);
  const blocked = useVerb(
    "query_traces",
    { blocked: true, since: startOfDay(), limit: BLOCKED_CALLS },
    ["trace"],
  );
  const stops = (agent: string) => {
    const guards = new Map<string, number>();
    for (const { trace } of blocked.data.value?.traces ?? []) {
      if (trace.context.agent === agent)
        guards.set(trace.guard ?? "", (guards.get(trace.guard ?? "") ?? 0) + 1);
    }
    return [...guards];
  };
  return (
    <Panel title="At work" count={agents.data.value?.agents.length}>
      <Answer of={agents}>
        {({ agents, claims = [], gone = 0 }) => (
          <>
            {agents.length === 0 && (
              <Empty command="twining init">
                No agent is at work. Once one is connected, it appears here with what it holds.
              </Empty>
            )}
            <ul class="rows">
              {agents.map((agent) => (
                <AgentRow
                  key={agent.agent_id}
                  agent={agent}
                  claims={claims.filter((claim) => claim.agent_id === agent.agent_id)}
                  stops={stops(agent.agent_id)}
                />
              ))}
            </ul>
            {gone > 0 && <p class="note muted">{count(gone, "agent")} gone</p>}
          </>
        )}
      </Answer>
    </Panel>
  );
}

function startOfDay(): string {
  const day = new Date(now.value);
  day.setHours(0, 0, 0, 0);
  return day.toISOString();
}

function AgentRow({
  agent,
  claims,
  stops,
}: {
  agent: Agent;
  claims: Claim[];
  stops: [string, number][];
}) {
  return (
    <RowLink
      href={`/a/${encodeURIComponent(agent.agent_id)}`}
      lead={<span class={`presence ${agent.liveness}`} aria-hidden="true" />}
      side={
        <span class="muted">
          {agent.liveness === "active" ? "at work" : agent.liveness} ·{" "}
          <Age at={agent.last_active} />
        </span>
      }
      below={
        <>
          {agent.suspicious && (
            <p>
              <Badge tone="blocking">look</Badge> {agent.suspicious}
            </p>
          )}
          {stops.map(([guard, times]) => (
            <p key={guard}>
              stopped {times === 1 ? "once" : `${times} times`} today:{" "}
              <a href={`/g/${encodeURIComponent(guard)}`}>{guard}</a>
            </p>
          ))}
          {claims.map((claim) => (
            <p key={claim.id}>
              holds{" "}
              {claim.feature ? (
                <a href={`/f/${encodeURIComponent(claim.feature)}`}>{claim.feature}</a>
              ) : null}{" "}
              <code>{claim.paths.join(", ")}</code> until <Clock at={claim.until} />{" "}
              <button
                type="button"
                class="small quiet"
                aria-label={`Release ${claim.paths.join(", ")}`}
                onClick={() => offer([releaseClaim(claim)])}
              >
                Release…
              </button>
            </p>
          ))}
        </>
      }
    >
      {agent.agent_id}
      {agent.role && <span class="muted"> {agent.role}</span>}
    </RowLink>
  );
}

type Changes = Output<"what_changed">;

export function SinceLastVisit() {
  const project = info.value?.project;
  if (project && visit?.project !== project) visit = { project, since: beginVisit(project) };
  return visit && project ? <Since since={visit.since} /> : null;
}

/** A reload, or a second tab, is still the same visit. */
function beginVisit(project: string): string {
  const seen = remembered(`seen.${project}`);
  const isSame = seen !== undefined && Date.now() - Date.parse(seen) < SAME_VISIT_MS;
  const since =
    (isSame ? remembered(`visit.${project}`) : seen) ?? hoursAgo(SINCE_FIRST_VISIT_HOURS);
  remember(`visit.${project}`, since);
  return since;
}

function Since({ since }: { since: string }) {
  const changes = useVerb("what_changed", { since, limit: 50 }, ["entry", "decision"]);
  const all = `/changes?since=${encodeURIComponent(since)}`;
  return (
    <Panel
      title="Since you were here"
      count={span(since)}
      side={
        <a class="more-link" href={all}>
          All
        </a>
      }
    >
      <Answer of={changes}>
        {(changed) => {
          const words = summary(changed);
          return (
            <>
              {words.length === 0 ? (
                <p class="note muted">Nothing changed.</p>
              ) : (
                <p class="note">{words.join(" · ")}</p>
              )}
              <ul class="rows tight">
                {changed.new_decisions.slice(0, 6).map((one) => (
                  <RowLink
                    key={one.id}
                    href={`/d/${one.id}`}
                    side={
                      <>
                        <AgentLink name={one.by} /> <Age at={one.at} />
                      </>
                    }
                  >
                    {one.summary}
                  </RowLink>
                ))}
              </ul>
            </>
          );
        }}
      </Answer>
    </Panel>
  );
}

function summary(changed: Changes): string[] {
  const types = new Map<string, number>();
  for (const { entry_type } of changed.new_entries)
    types.set(entry_type, (types.get(entry_type) ?? 0) + 1);
  return [
    [changed.new_decisions.length, "decided"],
    [changed.superseded_decisions.length, "superseded"],
    [changed.overridden_decisions.length, "overridden"],
    [changed.reconsidered_decisions.length, "reconsidered"],
    [changed.promoted_decisions.length, "promoted"],
  ]
    .filter(([n]) => n)
    .map(([n, word]) => `${n} ${word}`)
    .concat([...types].map(([type, n]) => count(n, type)));
}

export function MemoryLine() {
  const status = useVerb("status", {}, "all");
  const settled = useVerb("waiting", { settled: true, limit: 50 }, "all");
  const today = new Date().toDateString();
  const mine =
    settled.data.value?.items.filter(
      ({ settled: how }) =>
        how?.by === personName.value && new Date(how.at).toDateString() === today,
    ).length ?? 0;
  return (
    <Panel
      title="Memory"
      side={
        <a class="more-link" href="/health">
          Health
        </a>
      }
    >
      <Answer of={status}>
        {({ warnings = [], unreadable = [], active_decisions, blackboard_entries }) => {
          const troubles = warnings.length + unreadable.length;
          return (
            <>
              <p class="note">
                {troubles === 0 ? (
                  <Badge tone="good">healthy</Badge>
                ) : (
                  <Badge tone="blocking">{count(troubles, "remark")}</Badge>
                )}
                <span>
                  {count(active_decisions, "active decision")} ·{" "}
                  {count(blackboard_entries, "entry", "entries")}
                </span>
              </p>
              {mine > 0 && <p class="note muted">Settled by you today: {mine}</p>}
            </>
          );
        }}
      </Answer>
    </Panel>
  );
}
