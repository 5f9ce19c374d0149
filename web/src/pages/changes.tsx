// Changes: what the memory has now that it had not at a time, or on another branch.

import { useVerb } from "../core/loader";
import { place, setQuery } from "../core/router";
import { age, clock, count, hoursAgo } from "../core/time";
import type { Output } from "../core/types";
import { FilterField } from "../ui/controls";
import { Age, AgentLink, Answer, Empty, PageHead, Panel, RowLink, ScopeLink } from "../ui/parts";
import { EntryType } from "../ui/records";

type Changed = Output<"what_changed">;
type Row = Changed["overridden_decisions"][number] | Changed["new_decisions"][number];

const PAGE = 200;
let startOfVisit: string | undefined;

export function Changes() {
  const { query } = place.value;
  const base = query.get("base") ?? "";
  const scope = query.get("scope") ?? "";
  startOfVisit ??= hoursAgo(24);
  const since = query.get("since") ?? (base ? "" : startOfVisit);
  const offset = Number(query.get("offset") ?? 0) || 0;
  const changes = useVerb(
    "what_changed",
    {
      ...(base ? { base } : { since }),
      ...(scope && { scope }),
      limit: PAGE,
      ...(offset > 0 && { offset }),
    },
    ["entry", "decision"],
  );
  return (
    <>
      <PageHead
        title="Changes"
        note={
          base
            ? `What the memory here has that ${base} has not.`
            : `Since ${clock(since)} (${age(since)}).`
        }
      />
      <div class="filters">
        <FilterField
          name="since"
          label="Since"
          value={query.get("since") ?? ""}
          placeholder="2026-11-14"
          onChange={(value) => setQuery({ since: value, base: "", offset: "" })}
        />
        <FilterField
          name="base"
          label="Against a branch"
          value={base}
          placeholder="main"
          onChange={(value) => setQuery({ base: value, since: "", offset: "" })}
        />
        <FilterField
          name="scope"
          label="Scope"
          value={scope}
          placeholder="src/auth/"
          onChange={(value) => setQuery({ scope: value, offset: "" })}
        />
      </div>
      <Answer of={changes}>{(changed) => <Lists changed={changed} offset={offset} />}</Answer>
    </>
  );
}

function Lists({ changed, offset }: { changed: Changed; offset: number }) {
  const nothing = Object.values(changed).every((list) => !Array.isArray(list) || list.length === 0);
  if (nothing)
    return (
      <Empty command="twining what-changed 2026-11-14">
        Nothing changed. Decisions made, ended or reconsidered, and entries posted, appear here.
      </Empty>
    );
  return (
    <>
      <div class="columns even">
        <div class="stack">
          <DecisionChanges title="Decided" rows={changed.new_decisions} />
          <DecisionChanges title="Superseded" rows={changed.superseded_decisions} />
          <DecisionChanges title="Overridden" rows={changed.overridden_decisions} />
          <DecisionChanges title="Reconsidered" rows={changed.reconsidered_decisions} />
          <DecisionChanges title="Promoted" rows={changed.promoted_decisions} />
        </div>
        <Panel title="Posted" count={changed.new_entries.length}>
          <ul class="rows">
            {changed.new_entries.map((one) => (
              <RowLink
                key={one.id}
                href={`/e/${one.id}`}
                lead={<EntryType type={one.entry_type} />}
                side={
                  <>
                    <AgentLink name={one.by} /> <Age at={one.at} />
                  </>
                }
                below={<ScopeLink scope={one.scope} />}
              >
                {one.summary}
              </RowLink>
            ))}
          </ul>
          {changed.new_entries.length === 0 && <p class="note muted">No entry.</p>}
        </Panel>
      </div>
      {(changed.omitted_count ?? 0) > 0 && (
        <p class="note">
          {count(changed.omitted_count ?? 0, "more")}{" "}
          <button type="button" onClick={() => setQuery({ offset: String(offset + PAGE) })}>
            Older ones
          </button>
        </p>
      )}
      {offset > 0 && (
        <p class="note">
          <button type="button" onClick={() => setQuery({ offset: "" })}>
            Back to the newest
          </button>
        </p>
      )}
    </>
  );
}

function DecisionChanges({ title, rows }: { title: string; rows: Row[] }) {
  if (rows.length === 0) return null;
  return (
    <Panel title={title} count={rows.length}>
      <ul class="rows">
        {rows.map((row) => (
          <RowLink
            key={row.id}
            href={`/d/${row.id}`}
            side={
              <>
                <AgentLink name={row.by} /> <Age at={row.at} />
              </>
            }
            below={
              <>
                {row.reason && <p>{row.reason}</p>}
                <ScopeLink scope={row.scope} />
              </>
            }
          >
            {row.summary}
          </RowLink>
        ))}
      </ul>
    </Panel>
  );
}
