// One agent: what it holds, what it did, what stopped it.

import { offer } from "../acts/act";
import { releaseClaim, takeHandoff } from "../acts/offers";
import { useKeys } from "../core/keys";
import { useVerb } from "../core/loader";
import {
  Age,
  Answer,
  Badge,
  Clock,
  Empty,
  Fields,
  PageHead,
  Panel,
  RowLink,
  type Tone,
} from "../ui/parts";
import { EntryType, Status } from "../ui/records";

const LIVENESS: Record<string, [Tone, string]> = {
  active: ["good", "at work"],
  idle: ["minor", "idle"],
  gone: ["minor", "gone"],
};

export function AgentPage({ id: name }: { id: string }) {
  const agents = useVerb("agents", { include_gone: true }, ["claim", "presence", "handoff"]);
  const entries = useVerb("recent", { n: 30, agent: name }, ["entry"]);
  const decisions = useVerb("decisions", { author: name, limit: 30 }, ["decision"]);
  const traces = useVerb("query_traces", { agent: name, limit: 20 }, ["trace"]);
  const agent = agents.data.value?.agents.find((one) => one.agent_id === name);
  const claims = agents.data.value?.claims?.filter((one) => one.agent_id === name) ?? [];
  const handoffs =
    agents.data.value?.handoffs?.filter(
      (one) => one.source_agent === name || one.target_agent === name,
    ) ?? [];
  const [tone, word] = LIVENESS[agent?.liveness ?? "gone"] ?? ["minor", "gone"];
  useKeys({ r: () => offer(claims.map(releaseClaim)) });
  return (
    <>
      <PageHead
        trail={[["Now", "/"]]}
        title={name}
        badge={agent && <Badge tone={tone}>{word}</Badge>}
        note={agent?.description}
      />
      <div class="columns">
        <div class="stack">
          <Panel
            title="Posted"
            count={entries.data.value?.total}
            side={
              <a class="more-link" href={`/stream?agent=${encodeURIComponent(name)}`}>
                All
              </a>
            }
          >
            <Answer of={entries}>
              {({ entries }) =>
                entries.length === 0 ? (
                  <p class="note muted">Nothing.</p>
                ) : (
                  <ul class="rows">
                    {entries.map((entry) => (
                      <RowLink
                        key={entry.id}
                        href={`/e/${entry.id}`}
                        lead={<EntryType type={entry.entry_type} />}
                        side={<Age at={entry.timestamp} />}
                      >
                        {entry.summary}
                      </RowLink>
                    ))}
                  </ul>
                )
              }
            </Answer>
          </Panel>
          <Panel
            title="Decided"
            count={decisions.data.value?.total}
            side={
              <a class="more-link" href={`/decisions?author=${encodeURIComponent(name)}`}>
                All
              </a>
            }
          >
            <Answer of={decisions}>
              {({ decisions }) =>
                decisions.length === 0 ? (
                  <p class="note muted">Nothing.</p>
                ) : (
                  <ul class="rows">
                    {decisions.map((one) => (
                      <RowLink
                        key={one.id}
                        href={`/d/${one.id}`}
                        lead={<Status of={one.status} />}
                        side={<Age at={one.at} />}
                      >
                        {one.summary}
                      </RowLink>
                    ))}
                  </ul>
                )
              }
            </Answer>
          </Panel>
        </div>
        <div class="stack">
          <Panel title="Holds" count={claims.length}>
            <Answer of={agents}>
              {() => (
                <>
                  {agent && (
                    <div class="pad">
                      <Fields
                        rows={[
                          ["Role", agent.role],
                          ["Can", agent.capabilities.join(", ")],
                          ["Last seen", <Age at={agent.last_active} />],
                          ["Look", agent.suspicious],
                        ]}
                      />
                    </div>
                  )}
                  {claims.length === 0 && <p class="note muted">No path or feature.</p>}
                  <ul class="rows">
                    {claims.map((claim) => (
                      <li class="row" key={claim.id}>
                        <div class="row-main">
                          <code>{claim.feature ?? claim.paths.join(", ")}</code>
                          <div class="row-below">
                            {claim.reason}, until <Clock at={claim.until} />
                          </div>
                        </div>
                        <div class="row-side">
                          <button type="button" onClick={() => offer([releaseClaim(claim)])}>
                            Release…
                          </button>
                        </div>
                      </li>
                    ))}
                  </ul>
                </>
              )}
            </Answer>
          </Panel>
          <Panel title="Handoffs" count={handoffs.length}>
            {handoffs.length === 0 && (
              <Empty>Work that it hands over, or is handed, appears here.</Empty>
            )}
            <ul class="rows">
              {handoffs.map((handoff) => (
                <li class="row" key={handoff.id}>
                  <div class="row-main">
                    {handoff.summary}
                    <div class="row-below">
                      {handoff.source_agent} to {handoff.target_agent ?? "anyone"}{" "}
                      <Age at={handoff.created_at} />
                    </div>
                  </div>
                  <div class="row-side">
                    {handoff.acknowledged_by ? (
                      <Badge tone="good">taken by {handoff.acknowledged_by}</Badge>
                    ) : (
                      <button type="button" onClick={() => offer([takeHandoff(handoff)])}>
                        Take over…
                      </button>
                    )}
                  </div>
                </li>
              ))}
            </ul>
          </Panel>
          <Panel title="Stopped or corrected" count={traces.data.value?.total}>
            <Answer of={traces}>
              {({ traces }) =>
                traces.length === 0 ? (
                  <p class="note muted">Never.</p>
                ) : (
                  <ul class="rows">
                    {traces.map(({ trace }) => (
                      <RowLink
                        key={trace.id}
                        href={`/t/${trace.id}`}
                        side={<Age at={trace.timestamp} />}
                        below={
                          trace.guard && (
                            <a href={`/g/${encodeURIComponent(trace.guard)}`}>{trace.guard}</a>
                          )
                        }
                      >
                        {trace.event.what_happened}
                      </RowLink>
                    ))}
                  </ul>
                )
              }
            </Answer>
          </Panel>
        </div>
      </div>
    </>
  );
}
