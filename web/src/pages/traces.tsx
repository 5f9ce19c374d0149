// Traces: each time a guard spoke, the call, and whether people found it right.

import { useSignal } from "@preact/signals";
import { judgeBlock } from "../acts/offers";
import { useVerb } from "../core/loader";
import { go } from "../core/router";
import { age } from "../core/time";
import type { Trace } from "../core/types";
import {
  Age,
  AgentLink,
  Answer,
  Badge,
  Clock,
  CopyButton,
  Empty,
  Fields,
  PageHead,
  Panel,
  RowLink,
  type Tone,
} from "../ui/parts";
import { ActButtons, origin } from "../ui/records";
import { Inline } from "../ui/markdown";
import { VirtualList } from "../ui/virtual-list";
import { NotFound } from "./find-id";

const TRACE_ROW = 58;

export function Fired({ guard, count: words }: { guard: string; count: string }) {
  const traces = useVerb("query_traces", { guard, limit: 200 }, ["trace"]);
  const active = useSignal(0);
  const all = traces.data.value?.traces.map(({ trace }) => trace) ?? [];
  // What people said about a block stands at the block; the newest word comes first.
  const verdicts = new Map<string, string>();
  for (const trace of all) {
    if (trace.about && !verdicts.has(trace.about))
      verdicts.set(trace.about, trace.type === "approval" ? "right" : "wrong");
  }
  // The rest is about the guard itself: that it was proposed, promoted, lifted.
  const hasFired = (trace: Trace) =>
    trace.type === "violation" && trace.source === "enforcement_hook";
  const rows = all.filter(hasFired);
  const rest = all.filter((trace) => !trace.about && !hasFired(trace));
  const chosen = rows[active.value];
  return (
    <>
      <div class="columns list-detail short">
        <Panel title="Fired" count={words} class="list-panel">
          <Answer of={traces}>
            {() =>
              rows.length === 0 ? (
                <Empty>
                  It never refused anything. Each time it does, the call and what became of it appear
                  here.
                </Empty>
              ) : (
                <div class="list-box">
                  <VirtualList
                    name="fired"
                    label="Times it fired"
                    total={rows.length}
                    rowHeight={TRACE_ROW}
                    active={active}
                    onOpen={(index) => go(`/t/${rows[index]?.id}`)}
                    row={(index) => (
                      <TraceRow trace={rows[index]} verdict={verdicts.get(rows[index]?.id ?? "")} />
                    )}
                  />
                </div>
              )
            }
          </Answer>
        </Panel>
        <aside class="panel detail-panel" aria-label="The chosen time">
          {chosen ? (
            <TraceBody trace={chosen} />
          ) : (
            <p class="muted">Choose a time to see the call.</p>
          )}
        </aside>
      </div>
      {rest.length > 0 && (
        <Panel title="Said about it" count={rest.length}>
          <ul class="rows">
            {rest.map((trace) => (
              <RowLink
                key={trace.id}
                href={`/t/${trace.id}`}
                lead={<Badge tone={traceTone(trace)}>{trace.type}</Badge>}
                side={
                  <>
                    {trace.context.agent} <Age at={trace.timestamp} />
                  </>
                }
                below={trace.event.why}
              >
                {trace.event.what_happened}
              </RowLink>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function traceWord(trace: Trace): string {
  return trace.blocked ? "blocked" : trace.type;
}

function traceTone(trace: Trace): Tone {
  return trace.blocked ? "blocking" : trace.type === "approval" ? "good" : "minor";
}

function TraceRow({ trace, verdict }: { trace: Trace | undefined; verdict: string | undefined }) {
  if (!trace) return null;
  return (
    <div class="entry-row">
      <div class="line">
        <Badge tone={traceTone(trace)}>{traceWord(trace)}</Badge>
        {verdict && <Badge tone={verdict === "right" ? "good" : "grave"}>{verdict}</Badge>}
        <span>{trace.context.agent}</span>
        <span class="push">{age(trace.timestamp)}</span>
      </div>
      <div class="summary">
        <code>{trace.event.what_happened}</code>
      </div>
    </div>
  );
}

function TraceBody({ trace }: { trace: Trace }) {
  const isBlock = trace.blocked === true && trace.guard !== undefined;
  return (
    <>
      <p class="meta">
        <Badge tone={traceTone(trace)}>{traceWord(trace)}</Badge> <Clock at={trace.timestamp} /> <AgentLink name={trace.context.agent} />
      </p>
      <pre class="call">
        <code>{trace.event.what_happened}</code>
      </pre>
      <Fields
        rows={[
          ["Do instead", trace.event.what_was_correct],
          ["Why", trace.event.why && <Inline text={trace.event.why} />],
          [
            "Guard",
            trace.guard && <a href={`/g/${encodeURIComponent(trace.guard)}`}>{trace.guard}</a>,
          ],
          ["Action", trace.action],
          [
            "Feature",
            trace.context.feature && (
              <a href={`/f/${encodeURIComponent(trace.context.feature)}`}>
                {trace.context.feature}
              </a>
            ),
          ],
          ["Task", trace.context.task],
          ["Source", trace.source],
          ["From", origin(trace.origin)],
          [
            "Id",
            <>
              <a class="id" href={`/t/${trace.id}`}>
                {trace.id}
              </a>{" "}
              <CopyButton text={trace.id} label="Copy the id" />
            </>,
          ],
        ]}
      />
      {isBlock && (
        <div class="buttons">
          <ActButtons acts={[judgeBlock(trace, true), judgeBlock(trace, false)]} />
        </div>
      )}
    </>
  );
}

/** One trace. Its id says when it was made, which finds it without reading all of them. */
export function TracePage({ id }: { id: string }) {
  const at = timeOfId(id);
  const traces = useVerb(
    "query_traces",
    at === undefined
      ? { query: id, limit: 100 }
      : {
          since: new Date(at - 2000).toISOString(),
          until: new Date(at + 2000).toISOString(),
          limit: 100,
        },
    ["trace"],
  );
  const trace = traces.data.value?.traces.find((one) => one.trace.id === id)?.trace;
  if (traces.data.value && !trace) return <NotFound id={id} what="trace" />;
  return (
    <>
      <PageHead
        trail={[
          ["Guards", "/guards"],
          ...(trace?.guard
            ? [[trace.guard, `/g/${encodeURIComponent(trace.guard)}`] as [string, string]]
            : []),
        ]}
        title={trace?.event.what_happened ?? "Trace"}
      />
      <Answer of={traces}>
        {() =>
          trace && (
            <section class="panel pad" aria-label="The trace">
              <TraceBody trace={trace} />
            </section>
          )
        }
      </Answer>
    </>
  );
}

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Milliseconds since 1970, from the first ten characters of a ULID. */
function timeOfId(id: string): number | undefined {
  if (id.length !== 26) return undefined;
  let time = 0;
  for (const c of id.slice(0, 10).toUpperCase()) {
    const digit = CROCKFORD.indexOf(c);
    if (digit < 0) return undefined;
    time = time * 32 + digit;
  }
  return time;
}
