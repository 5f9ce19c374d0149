// Stream: every entry, newest first, any number of them; the chosen one beside the list.

import { useComputed, useSignal } from "@preact/signals";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { chosenActs, offer, type Act } from "../acts/act";
import { dismissEntry } from "../acts/offers";
import { read } from "../core/api";
import { useKeys } from "../core/keys";
import { paused } from "../core/live";
import { useRefresh, useVerb } from "../core/loader";
import { go, place, setQuery } from "../core/router";
import { age, count } from "../core/time";
import type { Entry } from "../core/types";
import { PagedList } from "../ui/paged";
import { Chips, FilterField } from "../ui/controls";
import { Answer, Badge, Empty, PageHead, Panel, Problem } from "../ui/parts";
import { ActButtons, actsOfEntry, CodeMark, EntryBody, EntryType } from "../ui/records";
import { VirtualList } from "../ui/virtual-list";
import { Lanes } from "./lanes";

const TYPES = [
  "need",
  "question",
  "warning",
  "finding",
  "decision",
  "answer",
  "status",
  "constraint",
  "offer",
  "artifact",
] as const;
const ROW_HEIGHT = 58;
/** What was chosen when the list was left, to come back to. */
let lastChosen = { address: "", index: -1 };

export function Stream() {
  const { query } = place.value;
  const filters = {
    types: (query.get("type") ?? "").split(",").filter(Boolean),
    scope: query.get("scope") ?? "",
    agent: query.get("agent") ?? "",
    since: query.get("since") ?? "",
    status: query.get("status") ?? "",
    words: query.get("q") ?? "",
  };
  return (
    <>
      <PageHead title="Stream" />
      <div class="filters">
        <FilterField
          name="q"
          label="Search"
          search
          value={filters.words}
          placeholder="words or meaning"
          onChange={(q) => setQuery({ q })}
        />
        <FilterField
          name="scope"
          label="Scope"
          value={filters.scope}
          placeholder="src/auth/"
          onChange={(scope) => setQuery({ scope })}
        />
        <FilterField
          name="agent"
          label="Agent"
          value={filters.agent}
          onChange={(agent) => setQuery({ agent })}
        />
        <Chips
          label="Types"
          options={TYPES.map((type) => [type, type])}
          chosen={filters.types}
          onChange={(types) => setQuery({ type: types.join(",") })}
        />
        <Chips
          label="Status"
          options={[["open", "still open"]]}
          chosen={[filters.status]}
          single
          onChange={([status]) => setQuery({ status })}
        />
      </div>
      {filters.words ? (
        <Found key={place.value.query.toString()} filters={filters} />
      ) : (
        <Entries key={place.value.query.toString()} filters={filters} />
      )}
    </>
  );
}

interface Filters {
  types: string[];
  scope: string;
  agent: string;
  since: string;
  status: string;
  words: string;
}

function Entries({ filters }: { filters: Filters }) {
  const isAtTop = useMemo(() => ({ value: true }), []);
  const list = useMemo(
    () =>
      new PagedList<Entry>(
        ["entry", "decision"],
        async (offset, limit) => {
          const answer = await read("recent", {
            n: limit,
            offset,
            entry_types: filters.types,
            ...(filters.scope && { scope: filters.scope }),
            ...(filters.agent && { agent: filters.agent }),
            ...(filters.since && { since: filters.since }),
            ...(filters.status === "open" && { status: "open" as const }),
          });
          return { rows: answer.entries, total: answer.total };
        },
        () => isAtTop.value && !document.querySelector(".virtual:hover, .virtual:focus"),
      ),
    [],
  );
  useRefresh(list);
  useEffect(() => list.refresh(), [list]);
  const active = useSignal(lastChosen.address === location.href ? lastChosen.index : -1);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const onView = useCallback((from: number, to: number) => list.want(from, to), [list]);
  const onRest = useCallback((atTop: boolean) => void (isAtTop.value = atTop), []);

  void list.version.value;
  const total = list.shown.value;
  const fresh = list.total.value - total;
  const chosen = active.value >= 0 ? list.at(active.value) : undefined;
  useEffect(() => {
    chosenActs.value = chosen ? actsOfEntry(chosen) : [];
    if (active.value >= 0) lastChosen = { address: location.href, index: active.value };
    return () => void (chosenActs.value = []);
  }, [chosen]);

  const open = (index: number) => {
    const entry = list.at(index);
    if (entry) go(`/e/${entry.id}`);
  };
  useKeys({
    a: () => offerOf(chosen, "post"),
    e: () => dismissSelected(chosen, selected.value, list),
    s: () => (chosen ? offer(actsOfEntry(chosen)) : false),
    x: () => {
      if (!chosen) return false;
      const next = new Set(selected.value);
      if (!next.delete(chosen.id)) next.add(chosen.id);
      selected.value = next;
      return true;
    },
  });
  const showNew = () => {
    list.catchUp();
    active.value = -1;
    document.querySelector<HTMLElement>(".virtual")?.scrollTo(0, 0);
  };

  return (
    <>
      <Lanes entries={firstRows(list)} />
      <div class="columns list-detail">
        <Panel
          title="Entries"
          count={list.isLoaded.value ? list.total.value : undefined}
          class="list-panel"
          side={
            <>
              {selected.value.size > 0 && (
                <span class="muted">{count(selected.value.size, "selected", "selected")}</span>
              )}
              {paused.value && <Badge tone="minor">paused</Badge>}
            </>
          }
        >
          {list.error.value && <Problem error={list.error.value} />}
          {list.isLoaded.value && total === 0 && (
            <Empty command={'twining post finding "what you found" --scope src/'}>
              No entry matches. What agents tell each other appears here.
            </Empty>
          )}
          {total > 0 && (
            <div class="list-box">
              {fresh > 0 && (
                <button type="button" class="pill" onClick={showNew}>
                  {fresh.toLocaleString("en")} new
                </button>
              )}
              <VirtualList
                name="stream"
                label="Entries"
                total={total}
                rowHeight={ROW_HEIGHT}
                active={active}
                onView={onView}
                onRest={onRest}
                onOpen={open}
                row={(index) => (
                  <EntryRow
                    entry={list.at(index)}
                    isSelected={selected.value.has(list.at(index)?.id ?? "")}
                  />
                )}
              />
            </div>
          )}
        </Panel>
        <EntryAside entry={chosen} />
      </div>
    </>
  );
}

/** What a search finds, best first. */
function Found({ filters }: { filters: Filters }) {
  const found = useVerb(
    "query",
    {
      query: filters.words,
      entry_types: filters.types,
      ...(filters.scope && { scope: filters.scope }),
      ...(filters.since && { since: filters.since }),
      ...(filters.status === "open" && { status: "open" as const }),
      limit: 50,
    },
    ["entry", "decision"],
  );
  const active = useSignal(-1);
  const rows = useComputed(() => found.data.value?.results.map(({ entry }) => entry) ?? []).value;
  const chosen = rows[active.value];
  useKeys({ a: () => offerOf(chosen, "post"), e: () => offerOf(chosen, "dismiss") });
  return (
    <div class="columns list-detail">
      <Panel title="Found" count={found.data.value?.results.length} class="list-panel">
        <Answer of={found}>
          {() =>
            rows.length === 0 ? (
              <Empty>Nothing like it was posted.</Empty>
            ) : (
              <div class="list-box">
                <VirtualList
                  name="found"
                  label="Found entries"
                  total={rows.length}
                  rowHeight={ROW_HEIGHT}
                  active={active}
                  onOpen={(index) => go(`/e/${rows[index]?.id}`)}
                  row={(index) => <EntryRow entry={rows[index]} isSelected={false} />}
                />
              </div>
            )
          }
        </Answer>
      </Panel>
      <EntryAside entry={chosen} />
    </div>
  );
}

function EntryRow({ entry, isSelected }: { entry: Entry | undefined; isSelected: boolean }) {
  if (!entry) return <div class="entry-row pending" />;
  return (
    <div class="entry-row">
      <div class="line">
        <EntryType type={entry.entry_type} />
        {isSelected && <Badge tone="good">selected</Badge>}
        <CodeMark code={entry.code} />
        <span class="scope">{entry.scope}</span>
        <span class="push">
          {entry.agent_id} · {age(entry.timestamp)}
        </span>
      </div>
      <div class="summary">{entry.summary}</div>
    </div>
  );
}

function EntryAside({ entry }: { entry: Entry | undefined }) {
  return (
    <aside class="panel detail-panel" aria-label="The chosen entry">
      {entry ? (
        <>
          <EntryType type={entry.entry_type} />
          <h2>
            <a href={`/e/${entry.id}`}>{entry.summary}</a>
          </h2>
          <EntryBody entry={entry} />
          <div class="buttons">
            <ActButtons acts={actsOfEntry(entry)} />
          </div>
        </>
      ) : (
        <p class="muted">
          Choose an entry to read it here. <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>Enter</kbd>{" "}
          opens it.
        </p>
      )}
    </aside>
  );
}

function firstRows(list: PagedList<Entry>): Entry[] {
  const rows: Entry[] = [];
  for (let index = 0; index < Math.min(200, list.shown.value); index++) {
    const entry = list.at(index);
    if (entry) rows.push(entry);
  }
  return rows;
}

function offerOf(entry: Entry | undefined, verb: string): boolean {
  const act = entry && actsOfEntry(entry).find((one) => one.verb === verb);
  return act ? offer([act]) : false;
}

function dismissSelected(
  chosen: Entry | undefined,
  selected: ReadonlySet<string>,
  list: PagedList<Entry>,
): boolean {
  if (selected.size < 2)
    return offerOf(list.at(list.indexOf([...selected][0] ?? "")) ?? chosen, "dismiss");
  const first = list.at(list.indexOf([...selected][0] ?? "")) ?? chosen;
  if (!first) return false;
  const act: Act = {
    ...dismissEntry(first),
    title: `Dismiss ${selected.size} entries`,
    input: { ids: [...selected] },
    command: `twining dismiss ${[...selected].join(" ")} --why "…"`,
  };
  return offer([act]);
}
