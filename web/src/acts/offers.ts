// The acts that pages offer beside those of the inbox.

import type { Claim, Decision, Entry, Feature, Guard, Handoff, Trace } from "../core/types";
import { MINUTES, quoted, type Act, type ActField, type Subject } from "./act";

const REASON: ActField = { name: "reason", label: "Reason", kind: "line" };

/** The types of entries that ask for something. */
export const ASKING = ["need", "question", "warning"];

type DecisionSubject = Pick<Decision, "id" | "summary"> &
  Partial<Pick<Decision, "rationale" | "scope" | "domain">>;

const subject = (decision: DecisionSubject): Subject => ({
  id: decision.id,
  summary: decision.summary,
  detail: decision.rationale,
  scope: decision.scope,
  domain: decision.domain,
});

export function overrideDecision(decision: DecisionSubject): Act {
  return {
    label: "Override",
    title: `Override: ${decision.summary}`,
    verb: "override",
    input: { decision_id: decision.id },
    fields: [REASON],
    then: "It no longer binds. What rests on it stays and is flagged, and your name and reason stand beside it.",
    command: `twining override ${decision.id} --why "…"`,
    subjects: [subject(decision)],
  };
}

export function promoteDecision(decision: DecisionSubject): Act {
  return {
    label: "Make it binding",
    title: `Make it binding: ${decision.summary}`,
    verb: "promote",
    input: { decision_ids: [decision.id] },
    fields: [],
    then: "It becomes active: agents in its scope must follow it.",
    command: `twining promote ${decision.id}`,
    subjects: [subject(decision)],
  };
}

export function reconsiderDecision(decision: DecisionSubject): Act {
  return {
    label: "Reconsider",
    title: `Reconsider: ${decision.summary}`,
    verb: "reconsider",
    input: { decision_id: decision.id },
    fields: [{ name: "new_context", label: "What changed", kind: "line" }],
    then: "It becomes provisional, and the team is warned. Nothing that rests on it changes.",
    command: `twining reconsider ${decision.id} --why "…"`,
    subjects: [subject(decision)],
  };
}

/** A new decision, with what is known filled in. */
export function decideAnew(from: Partial<Subject> = {}): Act {
  return {
    label: "Decide",
    title: from.summary ? `Decide anew: ${from.summary}` : "A new decision",
    verb: "decide",
    input: {},
    fields: [
      {
        name: "summary",
        label: "The choice, in one line",
        kind: "line",
        value: from.summary ?? "",
      },
      { name: "rationale", label: "Why", kind: "text", value: from.detail ?? "" },
      {
        name: "scope",
        label: "Where it holds",
        kind: "line",
        value: from.scope ?? "",
        optional: true,
      },
      { name: "domain", label: "Domain", kind: "line", value: from.domain ?? "", optional: true },
    ],
    then: "It is recorded as yours and binds in its scope, unless it conflicts with one that is active.",
    command: "twining decide <summary> --why <rationale> --scope <scope> --domain <domain>",
    subjects: [],
  };
}

const entrySubject = (entry: Entry): Subject => ({
  id: entry.id,
  summary: entry.summary,
  detail: entry.detail,
  scope: entry.scope,
  entry_type: entry.entry_type,
});

export function answerEntry(entry: Entry): Act {
  return {
    label: "Answer",
    title: `Answer: ${entry.summary}`,
    verb: "post",
    input: { entry_type: "answer", scope: entry.scope, relates_to: [entry.id] },
    fields: [
      { name: "summary", label: "Your answer, in one line", kind: "line" },
      { name: "detail", label: "More about it", kind: "text", optional: true },
    ],
    then: "Your answer is posted, and this is closed by it.",
    command: `twining post answer <summary> --relates-to ${entry.id}`,
    subjects: [entrySubject(entry)],
  };
}

export function dismissEntry(entry: Entry): Act {
  return {
    label: "Dismiss",
    title: `Dismiss: ${entry.summary}`,
    verb: "dismiss",
    input: { ids: [entry.id] },
    fields: [REASON],
    then: "It counts as settled and is no longer told to agents. The entry stays readable.",
    command: `twining dismiss ${entry.id} --why "…"`,
    subjects: [entrySubject(entry)],
  };
}

export function postAgain(of: Subject): Act {
  const type = of.entry_type ?? "question";
  return {
    label: "Post it again",
    title: `Post again: ${of.summary}`,
    verb: "post",
    input: {
      entry_type: type,
      summary: of.summary,
      detail: of.detail ?? "",
      ...(of.scope && { scope: of.scope }),
      force: true,
    },
    fields: [],
    then: `The ${type} is open again, as a new entry of yours.`,
    command: `twining post ${type} ${quoted(of.summary)} --force`,
    subjects: [of],
  };
}

export function reopenFeature(feature: Feature): Act {
  return {
    label: "Reopen",
    title: `Reopen ${feature.id}: ${feature.description}`,
    verb: "report",
    input: { feature: feature.id, role: "person", outcome: "reopened" },
    fields: [{ ...REASON, name: "summary" }],
    then: "It is pending again, its failed tests are forgotten, and the next agent may take it up; assemble tells it your words.",
    command: `twining report ${quoted(feature.id)} --role person --outcome reopened --summary "…"`,
    subjects: [{ id: feature.id, summary: feature.description }],
  };
}

export function liftGuard(guard: { id: string }): Act {
  return {
    label: "Lift for a while",
    title: `Lift ${guard.id} for a while`,
    verb: "guard_bypass",
    input: { guard: guard.id },
    fields: [MINUTES, REASON],
    then: "It stops nothing for the minutes you give. Every agent in this project may do what it forbids; your name and reason are recorded.",
    command: `twining guard bypass ${guard.id} --for <minutes>m --why <reason>`,
    subjects: [{ id: guard.id, summary: guard.id }],
  };
}

export function endLift(guard: { id: string }): Act {
  return {
    label: "Guard again now",
    title: `${guard.id} guards again`,
    verb: "guard_bypass_end",
    input: { guard: guard.id },
    fields: [],
    then: "It holds again from this moment on.",
    command: `twining guard bypass ${guard.id} --end`,
    subjects: [{ id: guard.id, summary: guard.id }],
  };
}

export function promoteGuard(guard: Guard): Act {
  return {
    label: "Promote",
    title: `Promote ${guard.id}`,
    verb: "guard_promote",
    input: { guard: guard.id },
    fields: [],
    then: "It blocks from now on instead of warning.",
    command: `twining guard promote ${guard.id}`,
    subjects: [{ id: guard.id, summary: guard.say }],
  };
}

export function discardGuard(guard: Guard): Act {
  return {
    label: "Discard",
    title: `Discard ${guard.id}`,
    verb: "guard_discard",
    input: { guard: guard.id },
    fields: [REASON],
    then: "The proposal is taken out of the policy; a trace keeps your reason.",
    command: `twining guard discard ${guard.id} --why "…"`,
    subjects: [{ id: guard.id, summary: guard.say }],
  };
}

export function judgeBlock(trace: Trace, isRight: boolean): Act {
  const guard = trace.guard ?? "";
  return {
    label: isRight ? "It was right" : "It was wrong",
    title: isRight ? `${guard} was right` : `${guard} was wrong`,
    verb: "store_trace",
    input: {
      type: isRight ? "approval" : "correction",
      guard,
      what_happened: trace.event.what_happened,
      about: trace.id,
    },
    fields: isRight ? [] : [{ name: "why", label: "Why it was wrong", kind: "line" }],
    then: isRight
      ? "The block counts as right."
      : "The block counts as wrong; the guard stays as it is.",
    command: `twining store-trace ${isRight ? "approval" : "correction"} ${quoted(trace.event.what_happened)} --guard ${guard} --about ${trace.id}`,
    subjects: [{ id: trace.id, summary: trace.event.what_happened }],
  };
}

export function releaseClaim(claim: Claim): Act {
  const what = claim.feature ? `feature ${claim.feature}` : claim.paths.join(", ");
  return {
    label: "Release",
    title: `Release ${what}`,
    verb: "claim",
    input: {
      action: "release",
      ...(claim.paths.length > 0 ? { paths: claim.paths } : { feature: claim.feature }),
    },
    fields: [],
    then: `${claim.agent_id} no longer holds it, and is told on the blackboard; others may edit there.`,
    command: `twining claim ${claim.paths.length > 0 ? claim.paths.map(quoted).join(" ") : `--feature ${quoted(claim.feature ?? "")}`} --action release`,
    subjects: [{ id: claim.id, summary: what }],
  };
}

export function takeHandoff(handoff: Handoff): Act {
  return {
    label: "Take over",
    title: `Take over: ${handoff.summary}`,
    verb: "acknowledge",
    input: { handoff_id: handoff.id },
    fields: [],
    then: "It is yours: no agent is offered it any more.",
    command: `twining acknowledge ${handoff.id}`,
    subjects: [{ id: handoff.id, summary: handoff.summary }],
  };
}

export const VERIFY: Act = {
  label: "Verify",
  title: "Verify the memory against the code",
  verb: "verify",
  input: {},
  fields: [{ name: "scope", label: "Where; empty for the project", kind: "line", optional: true }],
  then: "A finding with the result is posted. Nothing else changes.",
  command: "twining verify <scope>",
  subjects: [],
};

export const ARCHIVE: Act = {
  label: "Archive",
  title: "Archive old entries",
  verb: "archive",
  input: {},
  fields: [
    {
      name: "before",
      label: "Older than (date); empty for everything settled",
      kind: "line",
      optional: true,
    },
  ],
  then: "Settled entries move from the blackboard into the archive. Decisions and open needs, questions and warnings stay.",
  command: "twining archive --before <before>",
  subjects: [],
};

export const PRUNE: Act = {
  label: "Prune",
  title: "Prune the graph",
  verb: "prune_graph",
  input: { dry_run: false },
  fields: [],
  then: "Entities without a relation, and relations that miss an end, are removed.",
  command: "twining prune-graph --dry-run false",
  subjects: [],
};

/** What takes an act back, where a verb does. Nothing is taken back in silence: it is a dialog again. */
export function inverseOf(act: Act): Act | undefined {
  const [first] = act.subjects;
  switch (act.verb) {
    case "override":
      return first && decideAnew(first);
    case "promote": {
      const winner = String(
        (act.input.decision_ids as string[] | undefined)?.[0] ?? first?.id ?? "",
      );
      const known = act.subjects.find((one) => one.id === winner);
      return reconsiderDecision({ id: winner, summary: known?.summary ?? winner });
    }
    case "reconsider":
      return first && promoteDecision(first);
    case "dismiss":
      return first && postAgain(first);
    case "post":
      return act.input.entry_type === "answer" && first ? postAgain(first) : undefined;
    case "guard_bypass":
      return endLift({ id: String(act.input.guard) });
    case "guard_promote":
      return liftGuard({ id: String(act.input.guard) });
    default:
      return undefined;
  }
}
