// Addresses: every view has one, and the browser's history is the way back.

import { signal } from "@preact/signals";

export interface Place {
  path: string;
  query: URLSearchParams;
}

interface Visit {
  /** How many places of ours lie behind this one. */
  depth?: number;
  /** What had the focus when it was left, as its `data-key`. */
  focus?: string;
  scroll?: number;
}

/** Frames for which a page is awaited that the focus returns to. */
const FOCUS_FRAMES = 120;

export const place = signal<Place>(current());

/** Goes to another address of ours. */
export function go(href: string, replace = false): void {
  const visit = (history.state ?? {}) as Visit;
  if (!replace) history.replaceState({ ...visit, focus: focusKey(), scroll: scrollY }, "");
  const next: Visit = { depth: (visit.depth ?? 0) + (replace ? 0 : 1) };
  if (replace) history.replaceState(next, "", href);
  else history.pushState(next, "", href);
  const path = place.value.path;
  place.value = current();
  if (place.value.path !== path) {
    scrollTo(0, 0);
    afterRender(focusHeading);
  }
}

/** Goes back to where one came from; from a first page to the home page. */
export function back(): void {
  if (((history.state ?? {}) as Visit).depth) history.back();
  else if (place.value.path !== "/") go("/");
}

/** The address of this page with other filters. An empty value removes one. */
export function withQuery(changes: Record<string, string | undefined>): string {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
  return place.value.path + (text ? `?${text}` : "");
}

/** An address that an answer gives, if it is one of ours. */
export function local(href: string): string {
  return href.startsWith("/") && !href.startsWith("//") ? href : "/";
}

/** Changes filters of this page. */
export function setQuery(changes: Record<string, string | undefined>): void {
  go(withQuery(changes), true);
}

/** Puts the focus on the page's heading, so that it never falls to `body`. */
export function focusHeading(): void {
  const heading =
    document.querySelector<HTMLElement>("main h1") ?? document.querySelector<HTMLElement>("main");
  heading?.focus({ preventScroll: true });
}

/** Puts the focus back on an element, or, where that is gone, on the heading. */
export function returnFocus(to: Element | null): void {
  if (to instanceof HTMLElement && to !== document.body && to.isConnected) to.focus();
  if (document.activeElement === document.body || document.activeElement === null) focusHeading();
}

/** Follows links to addresses of ours, and the browser's back and forward. */
export function startRouter(): void {
  addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    const href = link?.getAttribute("href");
    if (!href?.startsWith("/") || href.startsWith("//") || link?.hasAttribute("download")) return;
    if (href.startsWith("/assets/")) return;
    event.preventDefault();
    go(href);
  });
  addEventListener("popstate", () => {
    place.value = current();
    const { focus, scroll } = (history.state ?? {}) as Visit;
    afterRender(() => {
      scrollTo(0, scroll ?? 0);
      focusHeading();
      if (focus) focusWhenThere(focus, FOCUS_FRAMES);
    });
  });
}

/** Lists fill after their page is there; whoever moved the focus meanwhile keeps it. */
function focusWhenThere(key: string, frames: number): void {
  const element = document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (element) element.focus();
  else if (frames > 0 && document.activeElement?.matches("h1, main, body"))
    requestAnimationFrame(() => focusWhenThere(key, frames - 1));
}

export function afterRender(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

function focusKey(): string | undefined {
  return document.activeElement?.closest<HTMLElement>("[data-key]")?.dataset.key;
}

function current(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}
