// Preview: what the next agent would be told about a task, what each part costs, what is left out.

import { useSignal } from "@preact/signals";
import { useVerb } from "../core/loader";
import { place, setQuery } from "../core/router";
import type { CodeNote, Input, Output } from "../core/types";
import { Tabs } from "../ui/controls";
import { Answer, Badge, CopyButton, Empty, PageHead, Panel, RowLink, type Tone } from "../ui/parts";
import { CodeMark } from "../ui/records";

type Assembled = Output<"assemble">;
interface Told {
  id: string;
  kind: string;
  tone: Tone;
  summary: string;
  why: string;
  href: string;
  tokens: number;
  note?: string;
  code?: CodeNote | undefined;
}

const TELLING = ["entry", "decision", "graph", "claim", "handoff"] as const;
const SECTIONS: Record<string, string> = {
  active_decisions: "decisions",
  active_warnings: "warnings",
  open_needs: "needs",
  recent_questions: "questions",
  recent_findings: "findings",
  related_entities: "entities",
  omitted: "lines of the rest",
  frame: "task, counts and names",
};
const OMISSIONS: Record<string, string> = {
  less_relevant: "less relevant",
  over_budget: "over budget",
  superseded: "superseded",
  overridden: "overridden",
  repeats: "says the same",
  code: "its code is gone, or on another branch",
};
const DEFAULT_TOKENS = 4000;

export function Preview() {
  const { query } = place.value;
  const [task, scope, host, budget] = [
    query.get("task") ?? "",
    query.get("scope") ?? "",
    query.get("for") ?? "mcp",
    query.get("budget") ?? "",
  ];
  const field = (name: string, label: string, value: string, placeholder: string) => (
    <label class="field inline">
      <span>{label}</span>
      <input name={name} type="text" value={value} placeholder={placeholder} autocomplete="off" />
    </label>
  );
  return (
    <>
      <PageHead title="What would an agent be told?" />
      <form
        class="filters preview-form"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const text = (name: string) => String(data.get(name) ?? "").trim();
          setQuery({
            task: text("task"),
            scope: text("scope"),
            for: text("for") === "mcp" ? "" : text("for"),
            budget: text("budget"),
          });
        }}
      >
        {field("task", "Task", task, "rotate signing keys")}
        {field("scope", "Place", scope, "src/auth/jwt.ts")}
        <label class="field inline">
          <span>For</span>
          <select name="for" value={host}>
            {["mcp", "claude", "codex"].map((one) => (
              <option key={one} selected={one === host}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <label class="field inline narrow">
          <span>Budget</span>
          <input
            name="budget"
            type="number"
            min={200}
            max={100000}
            value={budget}
            placeholder={String(DEFAULT_TOKENS)}
          />
        </label>
        <button type="submit" class="primary">
          Show
        </button>
      </form>
      {task || scope ? (
        <Shown
          key={query.toString()}
          task={task || "work here"}
          scope={scope || "project"}
          host={host}
          budget={Number(budget) || DEFAULT_TOKENS}
        />
      ) : (
        <Empty command={'twining assemble "rotate signing keys" src/auth/jwt.ts'}>
          Name a task and a place. You see the text itself, the tokens of each part, and what was
          left out.
        </Empty>
      )}
    </>
  );
}

function Shown({
  task,
  scope,
  host,
  budget,
}: {
  task: string;
  scope: string;
  host: string;
  budget: number;
}) {
  const input = { task, scope, max_tokens: budget, host: host as "mcp" | "claude" | "codex" };
  const assembled = useVerb("assemble", { ...input, explain: true }, TELLING);
  return (
    <Answer of={assembled}>
      {(context) => {
        const told = everythingTold(context);
        return (
          <>
            <Budget context={context} budget={budget} />
            <div class="columns even">
              <Panel title="Told" count={told.length}>
                {told.length === 0 && (
                  <Empty>Nothing is known about it: an agent starts from the code alone.</Empty>
                )}
                <ul class="rows">
                  {told.map((one) => (
                    <RowLink
                      key={one.id}
                      href={one.href}
                      lead={
                        <span class="tokens" title="tokens">
                          {one.tokens}
                        </span>
                      }
                      below={one.why}
                      side={
                        <>
                          {one.note && <Badge tone="blocking">{one.note}</Badge>}{" "}
                          <CodeMark code={one.code} />{" "}
                          <Badge tone={one.tone}>{one.kind}</Badge>
                        </>
                      }
                    >
                      {one.summary}
                    </RowLink>
                  ))}
                </ul>
              </Panel>
              <div class="stack">
                <Answered input={input} />
                <LeftOut context={context} />
              </div>
            </div>
          </>
        );
      }}
    </Answer>
  );
}

function Budget({ context, budget }: { context: Assembled; budget: number }) {
  const parts = (context.sections ?? []).map(
    ({ section, tokens }) => `${SECTIONS[section] ?? section} ${tokens.toLocaleString("en")}`,
  );
  const used = context.token_estimate;
  return (
    <div class="budget">
      <meter min={0} max={budget} value={used} aria-label="Tokens of the budget" />
      <p>
        <b>{used.toLocaleString("en")}</b> of {budget.toLocaleString("en")} tokens{" "}
        <span class="muted">{parts.join(" · ")}</span>
      </p>
    </div>
  );
}

function everythingTold(context: Assembled): Told[] {
  const tokens = (part: { tokens?: number }) => part.tokens ?? 0;
  const decisions = context.active_decisions.map((one): Told => ({
    id: one.id,
    kind: "decision",
    tone: "good",
    summary: one.summary,
    why: one.why,
    href: `/d/${one.id}`,
    tokens: tokens(one),
    code: one.code,
    ...(one.contested_by?.length
      ? { note: "contested" }
      : one.status === "provisional"
        ? { note: "provisional" }
        : {}),
  }));
  const entries = (list: Assembled["open_needs"], kind: string, tone: Tone) =>
    list.map((one): Told => ({
      id: one.id,
      kind: one.entry_type ?? kind,
      tone,
      summary: one.summary,
      why: one.why,
      href: `/e/${one.id}`,
      tokens: tokens(one),
      code: one.code,
    }));
  const entities = (context.related_entities ?? []).map((one): Told => ({
    id: `n:${one.name}`,
    kind: one.type,
    tone: "minor",
    summary: one.name,
    why: one.relations.join(", "),
    href: `/n/${encodeURIComponent(one.name)}`,
    tokens: tokens(one),
  }));
  const overridden = (context.overridden ?? []).map((one): Told => ({
    id: one.id,
    kind: "overridden",
    tone: "minor",
    summary: one.summary,
    why: `by ${one.by}: ${one.reason}`,
    href: `/d/${one.id}`,
    tokens: tokens(one),
  }));
  const claims = (context.claims ?? []).map((one, i): Told => ({
    id: `c:${i}`,
    kind: "claim",
    tone: "blocking",
    summary: `${one.agent_id} holds ${one.paths.join(", ")}`,
    why: one.reason,
    href: `/a/${encodeURIComponent(one.agent_id)}`,
    tokens: tokens(one),
  }));
  const handoffs = (context.handoffs ?? []).map((one): Told => ({
    id: one.id,
    kind: "handoff",
    tone: "open",
    summary: one.summary,
    why: `from ${one.source_agent}`,
    href: `/a/${encodeURIComponent(one.source_agent)}`,
    tokens: tokens(one),
  }));
  return [
    ...decisions,
    ...entries(context.active_warnings, "warning", "blocking"),
    ...entries(context.open_needs, "need", "open"),
    ...entries(context.recent_questions, "question", "open"),
    ...entries(context.recent_findings, "finding", "minor"),
    ...entities,
    ...overridden,
    ...claims,
    ...handoffs,
  ];
}

/** The text that an agent gets, without what explains it here. */
function Answered({ input }: { input: Input<"assemble"> }) {
  const how = useSignal("json");
  return (
    <Panel
      title="The answer itself"
      side={
        <Tabs
          label="Shown as"
          options={[
            ["json", "JSON"],
            ["player", "prompt: player"],
            ["coach", "prompt: coach"],
          ]}
          chosen={how.value}
          onChange={(value) => (how.value = value)}
        />
      }
    >
      {how.value === "json" ? (
        <PlainAnswer input={input} />
      ) : (
        <Prompt key={how.value} role={how.value} task={input.task} scope={input.scope} />
      )}
    </Panel>
  );
}

function PlainAnswer({ input }: { input: Input<"assemble"> }) {
  const assembled = useVerb("assemble", input, TELLING);
  return (
    <Answer of={assembled}>{(context) => <Text text={JSON.stringify(context, null, 2)} />}</Answer>
  );
}

function Prompt({ role, task, scope }: { role: string; task: string; scope: string }) {
  const prompt = useVerb("prompt", { role, task, scope }, ["entry", "decision", "config", "turn"]);
  return (
    <Answer of={prompt}>
      {({ text, token_estimate }) => (
        <>
          <p class="note muted">{token_estimate.toLocaleString("en")} tokens</p>
          <Text text={text} />
        </>
      )}
    </Answer>
  );
}

function Text({ text }: { text: string }) {
  return (
    <div class="text">
      <pre tabIndex={0} role="region" aria-label="The text">
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label="Copy the text" />
    </div>
  );
}

function LeftOut({ context }: { context: Assembled }) {
  const omitted = context.omitted ?? [];
  const more = (context.omitted_count ?? 0) - omitted.length;
  return (
    <Panel title="Left out" count={context.omitted_count ?? 0}>
      {omitted.length === 0 && <p class="note muted">Nothing that bears on it.</p>}
      <ul class="rows">
        {omitted.map((one) => (
          <RowLink
            key={one.id}
            href={`/${one.status ? "d" : "e"}/${one.id}`}
            lead={
              one.explained && (
                <Badge tone="minor">{one.explained.listed ? "by a line" : "not told"}</Badge>
              )
            }
            side={one.explained && `${OMISSIONS[one.explained.because]} ${one.explained.score}`}
          >
            {one.summary}
          </RowLink>
        ))}
      </ul>
      {more > 0 && <p class="note muted">and {more} less relevant</p>}
    </Panel>
  );
}
