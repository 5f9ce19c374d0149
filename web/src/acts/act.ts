// Acts: what a person can do, as one call of a verb, with what will hold afterwards.

import { signal } from "@preact/signals";
import { info } from "../core/api";
import type { WaitingAnswer, WaitingItem } from "../core/types";

export interface ActField {
  /** The field of the verb's input. */
  name: string;
  label: string;
  kind: "line" | "text" | "minutes" | "choice";
  options?: string[];
  value?: string;
  optional?: boolean;
}

/** A record that an act is about, for what is offered afterwards. */
export interface Subject {
  id: string;
  summary: string;
  detail?: string | undefined;
  scope?: string | undefined;
  entry_type?: string | undefined;
  domain?: string | undefined;
}

export interface Act {
  label: string;
  /** What the dialog is called. */
  title: string;
  /** What several acts of one dialog are about. */
  about?: string;
  /** Empty: there is only a command to copy. */
  verb: string;
  input: Record<string, unknown>;
  fields: ActField[];
  /** What holds afterwards, in a sentence. */
  then: string;
  /** The command line that does the same, `…` for what the person adds. */
  command: string;
  subjects: Subject[];
  /** The item of the inbox it answers, to notice when somebody else settles it first. */
  item?: string;
}

/** Acts that are offered together in the open dialog, and which is chosen. */
export interface OpenDialog {
  acts: Act[];
  chosen: number;
}

export const openDialog = signal<OpenDialog | undefined>(undefined);

/** Acts of what is chosen on the page, for keys and the palette. */
export const chosenActs = signal<Act[]>([]);

export function offer(acts: Act[], chosen = 0): boolean {
  if (acts.length === 0) return false;
  openDialog.value = { acts, chosen };
  return true;
}

/** Whether this browser may act at all. */
export function mayAct(): boolean {
  return info.value?.may_write === true;
}

/** The acts of an item of the inbox. */
export function actsOf(item: WaitingItem): Act[] {
  return item.answers.map((answer) => ({
    label: answer.label,
    title: `${answer.label}: ${item.title}`,
    about: item.title,
    verb: answer.verb,
    input: answer.input,
    fields: fieldsOf(answer),
    then: answer.then,
    command: answer.command,
    subjects: item.subjects.map(({ id, summary, detail }) => ({
      id,
      summary,
      detail,
      scope: item.scope,
      entry_type: entryType(item),
    })),
    item: item.id,
  }));
}

function entryType(item: WaitingItem): string | undefined {
  return item.kind === "question" || item.kind === "need" ? item.kind : undefined;
}

const TEXT_LABELS: Record<string, string> = {
  new_decision: "The decision instead, in one line",
  summary: "Your words, in one line",
  coach_feedback: "Your answer",
};

function fieldsOf(answer: WaitingAnswer): ActField[] {
  const fields: ActField[] = [];
  for (const need of answer.needs) {
    if (need === "name") continue;
    const name = (need === "reason" ? answer.reason_field : undefined) ?? answer.field ?? need;
    const given = answer.input[name];
    fields.push({
      name,
      label: need === "reason" ? "Reason" : (TEXT_LABELS[name] ?? "Your words"),
      kind: need === "reason" || name !== "detail" ? "line" : "text",
      ...(typeof given === "string" && { value: given }),
    });
  }
  if (answer.verb === "guard_bypass" && answer.input.minutes === undefined) fields.push(MINUTES);
  return fields;
}

export const MINUTES: ActField = {
  name: "minutes",
  label: "For how many minutes",
  kind: "minutes",
  value: "10",
};

/** The command with what the person wrote. */
export function commandWith(act: Act, values: Record<string, string>): string {
  let command = act.command;
  for (const field of act.fields) {
    const value = values[field.name]?.trim();
    command = command.replaceAll(`<${field.name}>`, value ? quoted(value) : `<${field.name}>`);
  }
  const words = act.fields.map((field) => values[field.name]?.trim()).filter((value) => value);
  return command.replace(/"…"|'…'|…/g, () => {
    const word = words.shift();
    return word ? quoted(word) : "…";
  });
}

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
