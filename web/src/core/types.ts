// Names for the parts of answers that several pages show.

import type { Verbs } from "../verbs.gen";

export type VerbName = keyof Verbs;
export type Input<V extends VerbName> = Verbs[V]["input"];
export type Output<V extends VerbName> = Verbs[V]["output"];

export type WaitingItem = Output<"waiting">["items"][number];
export type WaitingAnswer = WaitingItem["answers"][number];
export type WaitingKind = WaitingItem["kind"];
export type Gravity = WaitingItem["gravity"];
export type Entry = Output<"recent">["entries"][number];
/** How the code under a record is, where there is something to say. */
export type CodeNote = NonNullable<Entry["code"]>;
export type DecisionRow = Output<"decisions">["decisions"][number];
export type Decision = NonNullable<Output<"read">["decisions"]>[number];
export type Feature = Output<"features">["features"][number];
export type Guard = Output<"guards">["guards"][number];
export type Trace = Output<"query_traces">["traces"][number]["trace"];
export type Agent = Output<"agents">["agents"][number];
export type Claim = NonNullable<Output<"agents">["claims"]>[number];
export type Handoff = NonNullable<Output<"agents">["handoffs"]>[number];
export type Graph = Output<"graph">;
export type GraphNode = Graph["nodes"][number];

/** What a notice of the stream is about. */
export type Kind =
  | "entry"
  | "decision"
  | "claim"
  | "presence"
  | "feature"
  | "turn"
  | "trace"
  | "anchor"
  | "guard"
  | "handoff"
  | "graph"
  | "knowledge"
  | "config"
  | "head";
