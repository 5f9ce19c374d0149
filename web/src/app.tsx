// The frame around every page: where one is, whether it is live, and what was done last.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ActDialog, ResultBar } from "./acts/dialog";
import { access, info, type Access } from "./core/api";
import { useKeys } from "./core/keys";
import { lastNotice, liveState, togglePause } from "./core/live";
import { useVerb } from "./core/loader";
import { PAGES } from "./core/pages";
import { back, focusHeading, go, place } from "./core/router";
import { nextTheme, remember, theme } from "./core/settings";
import { HelpDialog } from "./ui/help";
import { helpOpen, paletteOpen } from "./ui/overlays";
import { Palette } from "./ui/palette";
import { CommandLine, copied, copy, moveFocus } from "./ui/parts";
import { commandOf, Page } from "./pages";

const LIVE_WORDS = {
  connecting: "connecting",
  live: "live",
  paused: "paused",
  reconnecting: "reconnecting",
  ended: "ended",
};

export function App() {
  const waiting = useVerb("waiting", { limit: 50 }, "all", true);
  const open = waiting.data.value?.total ?? 0;
  const project = info.value?.project ?? "twining";
  useEffect(() => {
    document.title = `${open > 0 ? `(${open}) ` : ""}${project}`;
  }, [open, project]);
  useEffect(() => {
    if (!document.activeElement || document.activeElement === document.body) focusHeading();
  }, [access.value]);
  useEffect(() => {
    const leave = () => {
      if (document.hidden && info.value)
        remember(`seen.${info.value.project}`, new Date().toISOString());
    };
    addEventListener("visibilitychange", leave, true);
    return () => removeEventListener("visibilitychange", leave, true);
  }, []);
  usePageKeys();
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          focusHeading();
        }}
      >
        Skip to the page
      </a>
      <Header waiting={open} />
      <main id="main" tabIndex={-1}>
        {access.value === "open" ? <Page /> : <Locked why={access.value} />}
      </main>
      <BottomBar waiting={open} />
      <ResultBar />
      <StatusLine />
      <ActDialog />
      {paletteOpen.value && <Palette />}
      {helpOpen.value && <HelpDialog />}
    </>
  );
}

function usePageKeys(): void {
  useKeys({
    "Ctrl+K": () => void (paletteOpen.value = !paletteOpen.value),
    "g n": () => go("/"),
    "g s": () => go("/stream"),
    "g d": () => go("/decisions"),
    "g f": () => go("/features"),
    "g g": () => go("/guards"),
    "g m": () => go("/map"),
    "g p": () => go("/preview"),
    "g h": () => go("/health"),
    "g c": () => go("/changes"),
    "?": () => void (helpOpen.value = true),
    t: () => nextTheme(),
    " ": () => togglePause(),
    y: () => void copy(location.href),
    Y: () => void copy(commandOf(place.value)),
    "/": () => focusField("input[type=search]"),
    f: () => focusField(".filters button, .filters input:not([type=search])"),
    Escape: () => back(),
    j: () => moveFocus(1),
    k: () => moveFocus(-1),
    ArrowDown: () => isOnRow() && moveFocus(1),
    ArrowUp: () => isOnRow() && moveFocus(-1),
    Home: () => isOnRow() && moveFocus("first"),
    End: () => isOnRow() && moveFocus("last"),
    ".": () => void (paletteOpen.value = true),
  });
}

function isOnRow(): boolean {
  return document.activeElement?.matches("[data-row]") ?? false;
}

function focusField(which: string): boolean {
  const field = document.querySelector<HTMLElement>(`main ${which}`);
  field?.focus();
  return field !== null;
}

function Header({ waiting }: { waiting: number }) {
  const server = info.value;
  const state = liveState.value;
  return (
    <header class="top">
      <div class="brand">
        <a href="/" aria-label="twining, to Now">
          <b>twining</b>
        </a>
        {server && (
          <span class="project" title={server.path}>
            {server.project}
          </span>
        )}
        {server?.branch && <span class="branch">{server.branch}</span>}
        <button
          type="button"
          class={`live ${state}`}
          aria-pressed={state === "paused"}
          title="Pause the page (Space)"
          onClick={togglePause}
        >
          <span class="dot" aria-hidden="true" />
          {LIVE_WORDS[state]}
        </button>
        {server && !server.may_write && (
          <span class="reads" title="The link was made without a terminal">
            reads only
          </span>
        )}
      </div>
      <nav aria-label="Pages" class="pages">
        {PAGES.map(({ href, label }) => (
          <a key={href} href={href} aria-current={currentness(href)}>
            {label}
            {href === "/" && waiting > 0 && (
              <span class="count" aria-label={`${waiting} waiting`}>
                {waiting}
              </span>
            )}
          </a>
        ))}
      </nav>
      <div class="tools">
        <button type="button" class="quiet" onClick={() => (paletteOpen.value = true)}>
          Find <kbd>Ctrl K</kbd>
        </button>
        <button
          type="button"
          class="quiet icon"
          aria-label={`Theme: ${theme.value}`}
          title="Theme (t)"
          onClick={nextTheme}
        >
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            {theme.value === "light" && <circle cx="8" cy="8" r="4" />}
            {theme.value === "dark" && <path d="M11 2a6 6 0 1 0 3 8A5 5 0 0 1 11 2Z" />}
            {theme.value === "auto" && (
              <path d="M8 2a6 6 0 0 0 0 12Z M8 2a6 6 0 0 1 0 12" fill-rule="evenodd" />
            )}
          </svg>
        </button>
        <button
          type="button"
          class="quiet icon"
          aria-label="Keys"
          title="Keys (?)"
          onClick={() => (helpOpen.value = true)}
        >
          ?
        </button>
      </div>
    </header>
  );
}

const SECTIONS: Record<string, string> = {
  d: "/decisions",
  e: "/stream",
  f: "/features",
  g: "/guards",
  t: "/guards",
  a: "/",
  n: "/map",
};

/** Whether a link leads to this page, or to the list that its record belongs to. */
function currentness(href: string): "page" | "true" | undefined {
  const { path } = place.value;
  if (path === href) return "page";
  return SECTIONS[/^\/([a-z])\//.exec(path)?.[1] ?? ""] === href ? "true" : undefined;
}

/** On a phone: four pages, and the rest behind "More". */
function BottomBar({ waiting }: { waiting: number }) {
  const isOpen = useSignal(false);
  const path = place.value.path;
  useEffect(() => void (isOpen.value = false), [path]);
  const link = ({ href, label }: (typeof PAGES)[number]) => (
    <a key={href} href={href} aria-current={currentness(href)}>
      {label}
      {href === "/" && waiting > 0 && (
        <span class="count" aria-label={`${waiting} waiting`}>
          {waiting}
        </span>
      )}
    </a>
  );
  return (
    <nav aria-label="Pages, short" class="bottom">
      {isOpen.value && (
        <div class="more" id="more-pages">
          {PAGES.slice(4).map(link)}
          <button type="button" onClick={() => (paletteOpen.value = true)}>
            Find
          </button>
          <button type="button" onClick={nextTheme}>
            Theme: {theme.value}
          </button>
          <button type="button" onClick={() => (helpOpen.value = true)}>
            Keys
          </button>
        </div>
      )}
      <div class="bar">
        {PAGES.slice(0, 4).map(link)}
        <button
          type="button"
          aria-expanded={isOpen.value}
          aria-controls="more-pages"
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          More
        </button>
      </div>
    </nav>
  );
}

const LOCKED: Record<Exclude<Access, "open">, [string, string]> = {
  no_key: [
    "This page needs a fresh link",
    "The key of this browser is not one of the running server: it ended, or there never was one. Links are made at the command line.",
  ],
  code_used: [
    "This link was used before",
    "A link works once. If it was not you who used it, look at the terminal of twining ui. A fresh one is made at the command line.",
  ],
  code_expired: [
    "This link is too old",
    "A link works for 60 seconds. A fresh one is made at the command line.",
  ],
};

function Locked({ why }: { why: Exclude<Access, "open"> }) {
  const [title, text] = LOCKED[why];
  return (
    <div class="locked">
      <h1 tabIndex={-1}>{title}</h1>
      <p>{text}</p>
      <CommandLine text="twining ui" />
    </div>
  );
}

const SPOKEN_KINDS: Partial<Record<string, [string, string?]>> = {
  entry: ["entry", "entries"],
  decision: ["decision"],
  feature: ["feature"],
  guard: ["guard"],
  handoff: ["handoff"],
};
const SPEAK_EVERY_MS = 5000;

/** What happened, for those who do not see it: at most once in five seconds. */
function StatusLine() {
  const text = useSignal("");
  useEffect(() => {
    let last = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const kinds = new Set<string>();
    const speak = () => {
      timer = undefined;
      last = Date.now();
      const changed = [...kinds]
        .map((kind) => SPOKEN_KINDS[kind])
        .filter((words) => words !== undefined);
      kinds.clear();
      if (changed.length > 0)
        text.value = `Changed: ${changed.map(([one, many]) => many ?? `${one}s`).join(", ")}`;
    };
    return lastNotice.subscribe((notice) => {
      if (!notice) return;
      notice.kinds?.forEach((kind) => kinds.add(kind));
      if (notice.kinds?.includes("head")) kinds.add("decision").add("entry");
      timer ??= setTimeout(speak, Math.max(0, last + SPEAK_EVERY_MS - Date.now()));
    });
  }, []);
  useEffect(() => copied.subscribe((said) => void (said && (text.value = said))), []);
  return (
    <p class="spoken" role="status">
      {text.value}
    </p>
  );
}
