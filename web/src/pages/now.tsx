// Now: what waits for a person, who is at work, and what happened meanwhile.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { actsOf, chosenActs, offer } from "../acts/act";
import { info } from "../core/api";
import { useKeys } from "../core/keys";
import { useVerb } from "../core/loader";
import { local, place } from "../core/router";
import type { WaitingItem } from "../core/types";
import { Inline } from "../ui/markdown";
import { Age, AgentLink, Answer, Badge, Empty, PageHead, Panel, ScopeLink } from "../ui/parts";
import { KIND_WORDS } from "../ui/records";
import { AtWork, MemoryLine, SinceLastVisit } from "./activity";

/** Items that are shown at first, and more each time. */
const PAGE = 50;

export function Now() {
  const isSettled = place.value.query.has("settled");
  return (
    <>
      <PageHead
        title={isSettled ? "Settled" : "Now"}
        {...(isSettled && { trail: [["Now", "/"]] as [string, string][] })}
      />
      {info.value && !info.value.exists && (
        <Empty command="twining init">
          There is no memory here yet, and looking creates none. This sets one up and connects your
          agents.
        </Empty>
      )}
      <div class="columns now">
        {isSettled ? <Settled /> : <NeedsYou />}
        <div class="stack">
          <AtWork />
          <SinceLastVisit />
          <MemoryLine />
        </div>
      </div>
    </>
  );
}

function NeedsYou() {
  const limit = useSignal(PAGE);
  const waiting = useVerb("waiting", { limit: limit.value }, "all");
  const items = waiting.data.value?.items ?? [];
  useItemKeys(items);
  return (
    <Panel
      title="Needs you"
      count={waiting.data.value?.total}
      class="inbox"
      side={
        <a class="more-link" href="/?settled=1">
          Settled
        </a>
      }
    >
      <Answer of={waiting}>
        {({ items, total }) => (
          <>
            {items.length === 0 && (
              <Empty command="twining waiting">
                Nothing waits for you. Contested decisions, blocked features, proposed guards, and
                questions that nobody answered for ten minutes appear here.
              </Empty>
            )}
            <ul class="items">
              {items.map((item) => (
                <Item key={item.id} item={item} />
              ))}
            </ul>
            {total > items.length && (
              <p class="note">
                <button type="button" onClick={() => (limit.value += PAGE)}>
                  Show more
                </button>{" "}
                <span class="muted">{(total - items.length).toLocaleString("en")} after these</span>
              </p>
            )}
          </>
        )}
      </Answer>
    </Panel>
  );
}

function Settled() {
  const settled = useVerb("waiting", { settled: true, limit: 50 }, "all");
  return (
    <Panel title="Settled items" count={settled.data.value?.total} class="inbox">
      <Answer of={settled}>
        {({ items }) => (
          <>
            {items.length === 0 && (
              <Empty>
                Nothing was settled yet. What you settle stays readable here, with who and why.
              </Empty>
            )}
            <ul class="items">
              {items.map((item) => (
                <Item key={item.id} item={item} />
              ))}
            </ul>
          </>
        )}
      </Answer>
    </Panel>
  );
}

function Item({ item }: { item: WaitingItem }) {
  const acts = actsOf(item);
  const isDispute = item.subjects.length > 1;
  return (
    <li class={`item gravity-${item.gravity}`} data-item={item.id}>
      <p class="meta">
        <Badge tone={item.gravity}>{KIND_WORDS[item.kind]}</Badge>
        <ScopeLink scope={item.scope} />
        <span class="push">
          <AgentLink name={item.by} /> <Age at={item.settled?.at ?? item.since} />
        </span>
      </p>
      <h3>
        <a href={local(item.href)} data-row data-key={`item-${item.id}`}>
          {item.title}
        </a>
      </h3>
      {isDispute ? (
        <div class="dispute">
          {item.subjects.map((one) => (
            <div key={one.id}>
              <a href={local(one.href)}>{one.summary}</a>
              {one.detail && (
                <p>
                  {one.by && <b>{one.by}: </b>}
                  {one.detail}
                </p>
              )}
              <p class="muted">
                {[one.status, restsOnIt(one.rests_on_it)].filter(Boolean).join(" · ")}
              </p>
            </div>
          ))}
        </div>
      ) : (
        item.subjects[0]?.detail && <p class="detail">{item.subjects[0].detail}</p>
      )}
      {item.settled ? (
        <p class="settled">
          <Badge tone="good">{item.settled.how}</Badge> by {item.settled.by}
          {item.settled.reason ? `: ${item.settled.reason}` : ""}
        </p>
      ) : (
        <>
          <p class="muted">
            <Inline text={item.why_you} />
          </p>
          <div class="buttons">
            {acts.map((act, i) => (
              <button
                key={act.label}
                type="button"
                class={i === 0 ? "lead" : ""}
                onClick={() => offer(isDispute ? acts : [act], isDispute ? i : 0)}
              >
                {act.label}
              </button>
            ))}
          </div>
        </>
      )}
    </li>
  );
}

function restsOnIt(words: string | undefined): string | undefined {
  if (words === undefined) return undefined;
  return words === "" ? "nothing rests on it" : `rests on it: ${words}`;
}

/** The keys that act on the item that has the focus. */
function useItemKeys(items: WaitingItem[]): void {
  const current = useRef(items);
  current.current = items;
  const focused = () => {
    const id = document.activeElement?.closest<HTMLElement>("[data-item]")?.dataset.item;
    return current.current.find((item) => item.id === id);
  };
  useEffect(() => {
    const follow = () => {
      const item = focused();
      if (item) chosenActs.value = actsOf(item);
    };
    addEventListener("focusin", follow);
    return () => {
      removeEventListener("focusin", follow);
      chosenActs.value = [];
    };
  }, []);
  const choose = (holds: (label: string, verb: string) => boolean) => () => {
    const item = focused() ?? items[0];
    if (!item) return false;
    const acts = actsOf(item);
    const at = acts.findIndex((act) => holds(act.label.toLowerCase(), act.verb));
    if (at < 0) return false;
    return item.subjects.length > 1 ? offer(acts, at) : offer([acts[at]!]);
  };
  useKeys({
    s: () => {
      const item = focused() ?? items[0];
      return item ? offer(actsOf(item)) : false;
    },
    a: choose((label, verb) => label.startsWith("answer") || verb === "post"),
    e: choose((_, verb) => verb === "dismiss" || verb === "guard_discard"),
    r: choose(
      (label, verb) =>
        verb === "claim" || label.startsWith("release") || label.startsWith("reopen"),
    ),
  });
}
