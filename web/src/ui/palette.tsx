// The palette: pages, actions of the chosen thing, and records by words or id.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { chosenActs, offer } from "../acts/act";
import { decideAnew, VERIFY } from "../acts/offers";
import { read } from "../core/api";
import { PAGES } from "../core/pages";
import { go } from "../core/router";
import { Modal } from "./modal";
import { paletteOpen } from "./overlays";

interface Choice {
  group: string;
  label: string;
  note?: string;
  run: () => void;
}

const WAIT_MS = 120;

export function Palette() {
  const words = useSignal("");
  const active = useSignal(0);
  const records = useSignal<Choice[]>([]);
  const fixed = useMemo<Choice[]>(
    () => [
      ...chosenActs.peek().map((act) => ({
        group: "Act",
        label: `${act.label}…`,
        note: act.title,
        run: () => void offer([act]),
      })),
      ...PAGES.map(({ href, label }) => ({ group: "Go to", label, run: () => go(href) })),
      { group: "Go to", label: "Settled items", run: () => go("/?settled=1") },
      { group: "Act", label: "New decision…", run: () => void offer([decideAnew()]) },
      { group: "Act", label: "Verify…", run: () => void offer([VERIFY]) },
    ],
    [],
  );

  useEffect(() => {
    const text = words.value.trim();
    if (text.length < 2) {
      records.value = [];
      return;
    }
    const timer = setTimeout(
      () =>
        void find(text).then((found) => {
          if (words.value.trim() === text) records.value = found;
        }),
      WAIT_MS,
    );
    return () => clearTimeout(timer);
  }, [words.value]);

  const text = words.value.trim().toLowerCase();
  const matching = fixed.filter(({ label, note }) =>
    `${label} ${note ?? ""}`.toLowerCase().includes(text),
  );
  const choices = [...matching, ...records.value].slice(0, 60);
  const at = Math.min(active.value, choices.length - 1);
  const close = () => (paletteOpen.value = false);
  const run = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    // After the dialog gave the focus back, so that what opens next takes it from there.
    setTimeout(choice.run);
  };

  return (
    <Modal label="Find" class="palette" onClose={close}>
      <input
        type="text"
        role="combobox"
        data-first
        aria-label="Find a page, a record or an action"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={choices.length > 0 ? `palette-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder="Page, action, words of a record, or an id"
        value={words.value}
        onInput={(event) => {
          words.value = event.currentTarget.value;
          active.value = 0;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") run(choices[at]);
          else if (event.key === "ArrowDown") active.value = Math.min(choices.length - 1, at + 1);
          else if (event.key === "ArrowUp") active.value = Math.max(0, at - 1);
          else return;
          event.preventDefault();
          document.getElementById(`palette-${active.value}`)?.scrollIntoView({ block: "nearest" });
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {choices.map((choice, i) => (
          <li
            key={i}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            onMouseDown={(event) => {
              event.preventDefault();
              run(choice);
            }}
          >
            <span class="group">{choice.group}</span>
            <span class="label">{choice.label}</span>
            {choice.note && <span class="muted">{choice.note}</span>}
          </li>
        ))}
        {choices.length === 0 && (
          <li role="option" aria-selected="false" aria-disabled="true">
            Nothing found
          </li>
        )}
      </ul>
    </Modal>
  );
}

async function find(text: string): Promise<Choice[]> {
  const open = (group: string, href: string, label: string, note?: string): Choice => ({
    group,
    label,
    ...(note && { note }),
    run: () => go(href),
  });
  const nothing = () => undefined;
  const [entries, decisions, features, guards, ids] = await Promise.all([
    read("query", { query: text, limit: 8 }).catch(nothing),
    read("decisions", { query: text, limit: 8 }).catch(nothing),
    read("features", {}).catch(nothing),
    read("guards", {}).catch(nothing),
    /^[0-9A-Z]{6,26}$/i.test(text)
      ? read("read", { ids: [text.toUpperCase()] }).catch(nothing)
      : undefined,
  ]);
  const small = text.toLowerCase();
  return [
    ...(ids?.decisions ?? []).map((one) => open("Decision", `/d/${one.id}`, one.summary, one.id)),
    ...(ids?.entries ?? []).map((one) => open("Entry", `/e/${one.id}`, one.summary, one.id)),
    ...(features?.features ?? [])
      .filter((one) => `${one.id} ${one.description}`.toLowerCase().includes(small))
      .slice(0, 6)
      .map((one) =>
        open(
          "Feature",
          `/f/${encodeURIComponent(one.id)}`,
          `${one.id} ${one.description}`,
          one.status,
        ),
      ),
    ...(guards?.guards ?? [])
      .filter((one) => `${one.id} ${one.say}`.toLowerCase().includes(small))
      .slice(0, 6)
      .map((one) => open("Guard", `/g/${encodeURIComponent(one.id)}`, one.id, one.say)),
    ...(decisions?.decisions ?? []).map((one) =>
      open("Decision", `/d/${one.id}`, one.summary, one.scope),
    ),
    ...(entries?.results ?? []).map(({ entry }) =>
      open("Entry", `/e/${entry.id}`, entry.summary, entry.entry_type),
    ),
  ];
}
