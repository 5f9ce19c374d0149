// Decisions: what was chosen, filtered and paged.

import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { chosenActs, offer } from "../acts/act";
import { decideAnew, overrideDecision, promoteDecision, reconsiderDecision } from "../acts/offers";
import { read } from "../core/api";
import { useKeys } from "../core/keys";
import { useRefresh } from "../core/loader";
import { go, place, setQuery } from "../core/router";
import { age } from "../core/time";
import type { DecisionRow } from "../core/types";
import { Markdown } from "../ui/markdown";
import { PagedList } from "../ui/paged";
import { Chips, FilterField } from "../ui/controls";
import {
  Age,
  AgentLink,
  Badge,
  Empty,
  Fields,
  PageHead,
  Panel,
  Problem,
  ScopeLink,
} from "../ui/parts";
import { ActButtons, Status } from "../ui/records";
import { VirtualList } from "../ui/virtual-list";

const STATUSES = ["active", "provisional", "superseded", "overridden"] as const;
const ROW_HEIGHT = 58;
let lastChosen = { address: "", index: -1 };

export function Decisions() {
  const { query } = place.value;
  const chosen = (query.get("status") ?? "").split(",").filter(Boolean);
  return (
    <>
      <PageHead title="Decisions">
        <button
          type="button"
          onClick={() => offer([decideAnew({ scope: query.get("scope") ?? "" })])}
        >
          New decision…
        </button>
      </PageHead>
      <div class="filters">
        <FilterField
          name="q"
          label="Search"
          search
          value={query.get("q") ?? ""}
          placeholder="words or meaning"
          onChange={(q) => setQuery({ q })}
        />
        <FilterField
          name="scope"
          label="Scope"
          value={query.get("scope") ?? ""}
          placeholder="src/auth/"
          onChange={(scope) => setQuery({ scope })}
        />
        <FilterField
          name="domain"
          label="Domain"
          value={query.get("domain") ?? ""}
          onChange={(domain) => setQuery({ domain })}
        />
        <FilterField
          name="author"
          label="Author"
          value={query.get("author") ?? ""}
          onChange={(author) => setQuery({ author })}
        />
        <Chips
          label="Status"
          options={STATUSES.map((one) => [one, one])}
          chosen={chosen}
          onChange={(status) => setQuery({ status: status.join(",") })}
        />
        <Chips
          label="Dispute"
          options={[["1", "contested"]]}
          chosen={[query.get("contested") ?? ""]}
          single
          onChange={([contested]) => setQuery({ contested })}
        />
      </div>
      <DecisionList key={query.toString()} query={query} />
    </>
  );
}

function DecisionList({ query }: { query: URLSearchParams }) {
  const list = useMemo(
    () =>
      new PagedList<DecisionRow>(
        ["decision"],
        async (offset, limit) => {
          const text = (name: "q" | "scope" | "domain" | "author", field: string) =>
            query.get(name) ? { [field]: query.get(name) } : {};
          const answer = await read("decisions", {
            limit,
            offset,
            status: STATUSES.filter((one) => query.get("status")?.split(",").includes(one)),
            ...text("q", "query"),
            ...text("scope", "scope"),
            ...text("domain", "domain"),
            ...text("author", "author"),
            ...(query.get("contested") && { contested: true }),
          });
          return { rows: answer.decisions, total: answer.total };
        },
        () => !document.querySelector(".virtual:hover, .virtual:focus"),
        true,
      ),
    [],
  );
  useRefresh(list);
  useEffect(() => list.refresh(), [list]);
  const active = useSignal(lastChosen.address === location.href ? lastChosen.index : -1);
  const onView = useCallback((from: number, to: number) => list.want(from, to), [list]);
  void list.version.value;
  const total = list.shown.value;
  const chosen = active.value >= 0 ? list.at(active.value) : undefined;
  useEffect(() => {
    chosenActs.value = chosen ? actsOfRow(chosen) : [];
    if (active.value >= 0) lastChosen = { address: location.href, index: active.value };
    return () => void (chosenActs.value = []);
  }, [chosen]);
  const open = (index: number) => {
    const row = list.at(index);
    if (row) go(`/d/${row.id}`);
  };
  useKeys({ s: () => (chosen ? void go(`/d/${chosen.id}`) : false) });
  return (
    <div class="columns list-detail">
      <Panel
        title="Decisions found"
        count={list.isLoaded.value ? list.total.value : undefined}
        class="list-panel"
      >
        {list.error.value && <Problem error={list.error.value} />}
        {list.isLoaded.value && total === 0 && (
          <Empty command={'twining decide "what was chosen" --why "why" --scope src/'}>
            No decision matches. What agents and people choose, and why, appears here.
          </Empty>
        )}
        {total > 0 && (
          <div class="list-box">
            {list.total.value > total && (
              <button type="button" class="pill" onClick={() => list.catchUp()}>
                {list.total.value - total} new
              </button>
            )}
            <VirtualList
              name="decisions"
              label="Decisions"
              total={total}
              rowHeight={ROW_HEIGHT}
              active={active}
              onView={onView}
              onOpen={open}
              row={(index) => <Row row={list.at(index)} />}
            />
          </div>
        )}
      </Panel>
      <aside class="panel detail-panel" aria-label="The chosen decision">
        {chosen ? (
          <Detail row={chosen} />
        ) : (
          <p class="muted">
            Choose a decision to read it here. <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>Enter</kbd>{" "}
            opens it.
          </p>
        )}
      </aside>
    </div>
  );
}

function Row({ row }: { row: DecisionRow | undefined }) {
  if (!row) return <div class="entry-row pending" />;
  return (
    <div class="entry-row">
      <div class="line">
        <Status of={row.status} />
        {(row.contested_by?.length ?? 0) > 0 && <Badge tone="blocking">contested</Badge>}
        <span class="scope">{row.scope}</span>
        <span class="push">
          {row.by} · {age(row.at)}
        </span>
      </div>
      <div class="summary">{row.summary}</div>
    </div>
  );
}

function Detail({ row }: { row: DecisionRow }) {
  return (
    <>
      <p class="meta">
        <Status of={row.status} />
        {(row.contested_by?.length ?? 0) > 0 && <Badge tone="blocking">contested</Badge>}
      </p>
      <h2>
        <a href={`/d/${row.id}`}>{row.summary}</a>
      </h2>
      <Fields
        rows={[
          ["Why", row.rationale && <Markdown text={row.rationale} />],
          [
            "By",
            <>
              <AgentLink name={row.by} /> <Age at={row.at} />
            </>,
          ],
          ["Confidence", row.confidence],
          ["Domain", row.domain],
          ["Scope", <ScopeLink scope={row.scope} />],
          ["Rules out", row.must_not_use?.join(", ")],
          ["Commits", row.commits || undefined],
        ]}
      />
      <div class="buttons">
        {(row.contested_by?.length ?? 0) > 0 ? (
          <a class="button primary" href={`/d/${row.id}`}>
            Settle
          </a>
        ) : (
          <ActButtons acts={actsOfRow(row)} />
        )}
      </div>
    </>
  );
}

function actsOfRow(row: DecisionRow) {
  if (row.status === "active") return [reconsiderDecision(row), overrideDecision(row)];
  return row.status === "provisional" ? [promoteDecision(row), overrideDecision(row)] : [];
}
