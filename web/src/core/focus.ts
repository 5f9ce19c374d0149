// When what has the focus goes away, the focus goes to its neighbour, never to `body`.

import { focusHeading } from "./router";

const ROWS = "main [data-row]";

export function guardFocus(): void {
  let last: Element | null = null;
  let row = -1;
  addEventListener("focusin", (event) => {
    last = event.target instanceof Element ? event.target : null;
    const around = last?.closest("li,article");
    row = around
      ? [...document.querySelectorAll(ROWS)].findIndex((one) => around.contains(one))
      : -1;
  });
  new MutationObserver(() => {
    if (document.activeElement !== document.body || !last || last.isConnected) return;
    const rows = document.querySelectorAll<HTMLElement>(ROWS);
    const neighbour = row >= 0 ? rows[Math.min(row, rows.length - 1)] : undefined;
    if (neighbour) neighbour.focus();
    else focusHeading();
  }).observe(document.body, { childList: true, subtree: true });
}
