// Records as several pages show them.

import type { ComponentChildren } from "preact";
import { offer, type Act } from "../acts/act";
import { answerEntry, ASKING, dismissEntry } from "../acts/offers";
import type { CodeNote, Decision, Entry, WaitingKind } from "../core/types";
import { Markdown } from "./markdown";
import { Age, AgentLink, Badge, CopyButton, Fields, IdLink, ScopeLink, type Tone } from "./parts";

const ENTRY_TONES: Partial<Record<string, Tone>> = {
  warning: "blocking",
  need: "open",
  question: "open",
  constraint: "blocking",
  decision: "good",
  answer: "good",
};
const STATUS_TONES: Partial<Record<string, Tone>> = {
  active: "good",
  provisional: "open",
  superseded: "minor",
  overridden: "minor",
  pending: "minor",
  in_progress: "open",
  completed: "blocking",
  tested: "good",
  blocked: "grave",
  pass: "good",
  fail: "grave",
  unknown: "open",
  skip: "minor",
  warn: "blocking",
  ok: "good",
  bad: "grave",
  block: "blocking",
  ask: "open",
  off: "minor",
};

export const KIND_WORDS: Record<WaitingKind, string> = {
  altered: "altered",
  dead_guard: "dead guard",
  contested: "contested",
  merge_clash: "merge clash",
  claimed_override: "claimed override",
  blocked_feature: "blocked",
  turn_question: "turn asks",
  question: "question",
  need: "need",
  proposed_guard: "proposed",
  stale_claim: "stale claim",
  handoff: "handoff",
  knowledge_error: "graph error",
};

export function EntryType({ type }: { type: string }) {
  return <Badge tone={ENTRY_TONES[type] ?? "minor"}>{type}</Badge>;
}

export function Status({ of, children }: { of: string; children?: ComponentChildren }) {
  return <Badge tone={STATUS_TONES[of] ?? "minor"}>{children ?? of.replaceAll("_", " ")}</Badge>;
}

/** How the code under a record is, with the reason on hover; nothing where it is as it was. */
export function CodeMark({ code }: { code: CodeNote | undefined }) {
  if (!code) return null;
  const needsALook = code.state === "doubtful" || code.state === "orphaned";
  const isAsItWas = code.state === "fresh" || code.state === "touched";
  return (
    <span class="code-mark" title={codeReason(code)}>
      <Badge tone={needsALook ? "open" : "minor"}>
        code {isAsItWas ? "moved" : code.state}
      </Badge>
    </span>
  );
}

/** Where, why, and since when, in a line. */
function codeReason(code: CodeNote): string {
  const moved = code.moved_from && `moved here from ${code.moved_from}`;
  return [code.at, code.reason, code.places, moved].filter(Boolean).join("; ");
}

/** The same with the reason beside it, where there is space. */
function codeField(code: CodeNote | undefined): ComponentChildren {
  return (
    code && (
      <>
        <CodeMark code={code} /> {codeReason(code)}
      </>
    )
  );
}

/** Where a record came from: `claude · mcp · agent`. */
export function origin(
  of: { client?: string; via: string; trust: string } | undefined,
): string | undefined {
  return of && [of.client, of.via, of.trust].filter(Boolean).join(" · ");
}

export function ActButtons({ acts, primary }: { acts: Act[]; primary?: boolean }) {
  return (
    <>
      {acts.map((act, i) => (
        <button
          key={act.label}
          type="button"
          class={primary && i === 0 ? "primary" : ""}
          onClick={() => offer([act])}
        >
          {act.label}…
        </button>
      ))}
    </>
  );
}

export function actsOfEntry(entry: Entry): Act[] {
  if (!ASKING.includes(entry.entry_type)) return [];
  return entry.entry_type === "warning"
    ? [dismissEntry(entry)]
    : [answerEntry(entry), dismissEntry(entry)];
}

/** Everything an entry says. */
export function EntryBody({ entry }: { entry: Entry }) {
  return (
    <>
      {entry.detail && <Markdown text={entry.detail} />}
      <Fields
        rows={[
          [
            "By",
            <>
              <AgentLink name={entry.agent_id} /> <Age at={entry.timestamp} />
            </>,
          ],
          ["From", origin(entry.origin)],
          ["Code", codeField(entry.code)],
          ["Scope", <ScopeLink scope={entry.scope} />],
          [
            "Tags",
            entry.tags.length > 0 &&
              entry.tags.map((tag) => (
                <span class="tag" key={tag}>
                  {tag}
                </span>
              )),
          ],
          [
            "About",
            entry.relates_to?.length
              ? entry.relates_to.map((id) => (
                  <>
                    <IdLink key={id} id={id} kind="e" />{" "}
                  </>
                ))
              : undefined,
          ],
          [
            "Id",
            <>
              <code class="id">{entry.id}</code> <CopyButton text={entry.id} label="Copy the id" />
            </>,
          ],
        ]}
      />
    </>
  );
}

/** Everything a decision says. */
function idLinks(ids: string[]) {
  if (ids.length === 0) return undefined;
  return ids.map((id) => (
    <>
      <IdLink key={id} id={id} kind="d" />{" "}
    </>
  ));
}

export function DecisionBody({
  decision,
  restsOnIt,
}: {
  decision: Decision;
  restsOnIt?: string | undefined;
}) {
  return (
    <>
      <p class="meta">
        <AgentLink name={decision.agent_id} />
        {decision.origin && <span>{origin(decision.origin)}</span>}
        <Age at={decision.timestamp} />
        <span>{decision.confidence} confidence</span>
        {!decision.reversible && <span>cannot be undone</span>}
      </p>
      <Fields
        rows={[
          ["Code", codeField(decision.code)],
          ["Why", decision.rationale && <Markdown text={decision.rationale} />],
          ["Context", decision.context && <Markdown text={decision.context} />],
          [
            "Rejected",
            decision.alternatives.length > 0 && (
              <ul class="plain">
                {decision.alternatives.map((one) => (
                  <li key={one.option}>
                    <b>{one.option}</b>: {one.reason_rejected}
                  </li>
                ))}
              </ul>
            ),
          ],
          [
            "Rules out",
            decision.constraints.length > 0 && (
              <ul class="plain">
                {decision.constraints.map((one) => (
                  <li key={one}>{one}</li>
                ))}
              </ul>
            ),
          ],
          [
            "Files",
            decision.affected_files.length > 0 && <Paths paths={decision.affected_files} />,
          ],
          [
            "Symbols",
            decision.affected_symbols.length > 0 && <Paths paths={decision.affected_symbols} />,
          ],
          [
            "Commits",
            decision.commit_hashes.length > 0 && (
              <Paths paths={decision.commit_hashes.map((hash) => hash.slice(0, 12))} />
            ),
          ],
          ["Depends on", idLinks(decision.depends_on)],
          ["Agreed to stand beside", idLinks(decision.compatible_with ?? [])],
          ["Supersedes", decision.supersedes && <IdLink id={decision.supersedes} kind="d" />],
          [
            "Superseded by",
            decision.superseded_by && <IdLink id={decision.superseded_by} kind="d" />,
          ],
          [
            "Overridden",
            decision.overridden_by &&
              `by ${decision.overridden_by}${decision.override_authority === "claimed" ? " (an agent's word)" : ""}: ${decision.override_reason ?? ""}`,
          ],
          ["Rests on it", restsOnIt === undefined ? undefined : restsOnIt || "nothing"],
          ["Scope", <ScopeLink scope={decision.scope} />],
          [
            "Id",
            <>
              <code class="id">{decision.id}</code>{" "}
              <CopyButton text={decision.id} label="Copy the id" />
            </>,
          ],
        ]}
      />
    </>
  );
}

export function Paths({ paths }: { paths: string[] }) {
  return (
    <ul class="plain paths">
      {paths.map((path) => (
        <li key={path}>
          <code>{path}</code>
        </li>
      ))}
    </ul>
  );
}
