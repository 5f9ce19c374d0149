// Who posted when: one lane for each agent, over the entries that are loaded.

import { clock } from "../core/time";
import type { Entry } from "../core/types";

const LANES = 8;
const WIDTH = 1000;
const LANE = 22;

export function Lanes({ entries }: { entries: Entry[] }) {
  const times = entries
    .map((entry) => Date.parse(entry.timestamp))
    .filter((time) => !Number.isNaN(time));
  if (times.length < 2) return null;
  const counts = new Map<string, number>();
  for (const { agent_id } of entries) counts.set(agent_id, (counts.get(agent_id) ?? 0) + 1);
  const agents = [...counts]
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, LANES)
    .map(([name]) => name);
  const from = Math.min(...times);
  const to = Math.max(...times);
  const x = (at: string) => ((Date.parse(at) - from) / Math.max(1, to - from)) * (WIDTH - 8) + 4;
  return (
    <details class="panel lanes">
      <summary>
        Who posted when
        <span class="muted">
          last {entries.length} entries, {clock(new Date(from).toISOString())} to{" "}
          {clock(new Date(to).toISOString())}
        </span>
      </summary>
      <div class="lane-grid">
        {agents.map((agent) => {
          const own = entries.filter((entry) => entry.agent_id === agent);
          return (
            <div class="lane" key={agent}>
              <a href={`/stream?agent=${encodeURIComponent(agent)}`}>{agent}</a>
              <svg
                viewBox={`0 0 ${WIDTH} ${LANE}`}
                preserveAspectRatio="none"
                role="img"
                aria-label={`${own.length} entries of ${agent}`}
              >
                <line x1="0" x2={WIDTH} y1={LANE / 2} y2={LANE / 2} />
                {own.map((entry) => (
                  <rect
                    key={entry.id}
                    class={`type-${entry.entry_type}`}
                    x={x(entry.timestamp) - 2}
                    y="4"
                    width="4"
                    height={LANE - 8}
                  />
                ))}
              </svg>
            </div>
          );
        })}
      </div>
    </details>
  );
}
