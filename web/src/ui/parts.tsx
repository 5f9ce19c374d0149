// Small parts that every page is made of.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CallError } from "../core/api";
import type { Loaded } from "../core/loader";
import { age, clock } from "../core/time";
import { Inline } from "./markdown";

export type Tone = "grave" | "blocking" | "open" | "minor" | "good";

const SHAPES: Record<Tone, string> = {
  grave: "M6 1 11.4 10.6H.6Z",
  blocking: "M1.5 1.5h9v9h-9Z",
  open: "M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1Z",
  minor: "M6 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8Z",
  good: "m1.5 6.5 3 3 6-7",
};
/** What was copied last, for the status line. */
export const copied = signal("");

/** A state as a word and a shape, so that it needs no colour. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge tone-${tone}`}>
      <svg
        class={tone === "minor" || tone === "good" ? "outline" : ""}
        viewBox="0 0 12 12"
        width="10"
        height="10"
        aria-hidden="true"
      >
        <path d={SHAPES[tone]} />
      </svg>
      {children}
    </span>
  );
}

/** The heading of a page: where it is, what it is, and what can be done. */
export function PageHead(props: {
  trail?: [string, string][];
  title: ComponentChildren;
  badge?: ComponentChildren;
  note?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <header class="page-head">
      {props.trail && (
        <nav aria-label="Where this is" class="trail">
          {props.trail.map(([label, href]) => (
            <a key={href} href={href}>
              {label}
            </a>
          ))}
        </nav>
      )}
      <div class="page-title">
        <h1 tabIndex={-1}>{props.title}</h1>
        {props.badge}
        {props.children && <div class="actions">{props.children}</div>}
      </div>
      {props.note && <p class="note">{props.note}</p>}
    </header>
  );
}

/** A part of a page with a heading. */
export function Panel(props: {
  title: string;
  count?: number | string | undefined;
  side?: ComponentChildren;
  class?: string;
  children?: ComponentChildren;
}) {
  const id = `panel-${props.title.toLowerCase().replace(/\W+/g, "-")}`;
  return (
    <section class={`panel ${props.class ?? ""}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>
          {props.title}
          {props.count !== undefined && (
            <span class="count">
              {typeof props.count === "number" ? props.count.toLocaleString("en") : props.count}
            </span>
          )}
        </h2>
        {props.side}
      </div>
      {props.children}
    </section>
  );
}

/** What a page will hold, and the command that fills it. */
export function Empty({ children, command }: { children: ComponentChildren; command?: string }) {
  return (
    <div class="empty">
      <p>{children}</p>
      {command && <CommandLine text={command} />}
    </div>
  );
}

/** A call that failed: what, how to go on, and the command that would do the same. */
export function Problem({ error }: { error: CallError }) {
  return (
    <div class="problem" role="alert">
      <Badge tone="grave">{error.code.toLowerCase().replaceAll("_", " ")}</Badge>
      <p>
        <Inline text={error.message} />
      </p>
      {error.hint && (
        <p class="muted">
          <Inline text={error.hint} />
        </p>
      )}
      {error.command && <CommandLine text={error.command} />}
    </div>
  );
}

/** Shows an answer once it is there; an error beside what was there before. */
export function Answer<T>({
  of,
  children,
}: {
  of: Loaded<T>;
  children: (data: T) => ComponentChildren;
}) {
  const data = of.data.value;
  const error = of.error.value;
  return (
    <>
      {error && error.status !== 401 && <Problem error={error} />}
      {data !== undefined
        ? children(data)
        : !error && (
            <p class="loading" aria-busy="true">
              Loading …
            </p>
          )}
    </>
  );
}

/** A command line that can be copied. */
export function CommandLine({ text }: { text: string }) {
  return (
    <div class="command">
      <code>{text}</code>
      <CopyButton text={text} label="Copy the command" />
    </div>
  );
}

export function CopyButton({
  text,
  label,
  children = "Copy",
}: {
  text: string;
  label?: string;
  children?: ComponentChildren;
}) {
  const [done, setDone] = useState(false);
  useEffect(() => setDone(false), [text]);
  return (
    <button
      type="button"
      class="small quiet"
      aria-label={done ? "Copied" : label}
      onClick={() => void copy(text).then(setDone)}
    >
      {done ? "Copied" : children}
    </button>
  );
}

/** Copies a text; whether that was possible. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    copied.value = `Copied: ${text}`;
    return true;
  } catch {
    copied.value = `Copy this: ${text}`;
    return false;
  }
}

export function Age({ at }: { at: string | undefined }) {
  if (!at) return null;
  return (
    <time class="age" dateTime={at} title={at}>
      {age(at)}
    </time>
  );
}

export function Clock({ at }: { at: string | undefined }) {
  if (!at) return null;
  return (
    <time dateTime={at} title={at}>
      {clock(at)}
    </time>
  );
}

export function AgentLink({ name }: { name: string | undefined }) {
  if (!name) return null;
  return (
    <a class="agent" href={`/a/${encodeURIComponent(name)}`}>
      {name}
    </a>
  );
}

/** A scope; it leads to what was decided there. */
export function ScopeLink({ scope }: { scope: string | undefined }) {
  if (!scope) return null;
  return (
    <a class="scope" href={`/decisions?scope=${encodeURIComponent(scope).replaceAll("%2F", "/")}`}>
      {scope}
    </a>
  );
}

/** An id, short to read and whole to copy. Ids of one moment begin alike, so the end is shown. */
export function IdLink({ id, kind }: { id: string; kind: "d" | "e" | "t" }) {
  return (
    <a class="id" href={`/${kind}/${encodeURIComponent(id)}`} title={id}>
      {shortId(id)}
    </a>
  );
}

export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}

/** Names and values. Values that say nothing are left out. */
export function Fields({ rows }: { rows: [string, ComponentChildren][] }) {
  const said = rows.filter(
    ([, value]) =>
      value !== undefined &&
      value !== null &&
      value !== "" &&
      value !== false &&
      !(Array.isArray(value) && value.length === 0),
  );
  if (said.length === 0) return null;
  return (
    <dl class="fields">
      {said.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
/** A row of a plain list that leads somewhere. */
export function RowLink(props: {
  href: string;
  children: ComponentChildren;
  side?: ComponentChildren;
  below?: ComponentChildren;
  lead?: ComponentChildren;
}) {
  return (
    <li class="row">
      {props.lead && <span class="row-lead">{props.lead}</span>}
      <div class="row-main">
        <a class="row-title" href={props.href} data-key={props.href} data-row>
          {props.children}
        </a>
        {props.below && <div class="row-below">{props.below}</div>}
      </div>
      {props.side && <div class="row-side">{props.side}</div>}
    </li>
  );
}

/** Moves the focus among the rows of the page; `by` is a step, or an end. */
export function moveFocus(by: number | "first" | "last"): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")].filter(
    (row) => row.offsetParent !== null,
  );
  if (rows.length === 0) return false;
  const at = rows.findIndex(
    (row) =>
      row === document.activeElement || row.closest("li,article")?.contains(document.activeElement),
  );
  const next =
    by === "first"
      ? 0
      : by === "last"
        ? rows.length - 1
        : at < 0
          ? by > 0
            ? 0
            : rows.length - 1
          : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
  return true;
}
