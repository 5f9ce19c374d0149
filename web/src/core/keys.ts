// Keys: single letters rest in fields, in dialogs, and where they are switched off.

import { useEffect } from "preact/hooks";
import { singleKeys } from "./settings";

export type KeyMap = Record<string, (event: KeyboardEvent) => boolean | void>;

const maps: KeyMap[] = [];
let prefix = "";

/** Keys that act while a component is shown; the newest is asked first. A handler that returns false passes it on. */
export function useKeys(map: KeyMap): void {
  useEffect(() => {
    maps.push(map);
    return () => void maps.splice(maps.indexOf(map), 1);
  });
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
    if (hasModifier) {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k")
        run("Ctrl+K", event);
      return;
    }
    if (document.querySelector("dialog[open]") || isField(event.target)) return;
    const isLetter = event.key.length === 1;
    if (isLetter && !singleKeys.value) return;
    // A space or Enter on a button or link is a click, and belongs to it.
    if (
      (event.key === " " || event.key === "Enter") &&
      event.target instanceof Element &&
      event.target.closest("a,button,summary")
    )
      return;
    const key = prefix + event.key;
    prefix = "";
    if (run(key, event)) return;
    if (key === "g") {
      prefix = "g ";
      setTimeout(() => (prefix = ""), 2000);
    }
  });
}

function run(key: string, event: KeyboardEvent): boolean {
  for (const map of maps.toReversed()) {
    const handler = map[key];
    if (handler && handler(event) !== false) {
      event.preventDefault();
      return true;
    }
  }
  return false;
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches("input:not([type=checkbox],[type=radio]),textarea,select")
  );
}
