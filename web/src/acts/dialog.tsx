// The dialog of an act: what will hold, what the person adds, the command, and the confirmation.

import { signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { act as perform, CallError, info } from "../core/api";
import { useVerb } from "../core/loader";
import { personName } from "../core/settings";
import { age } from "../core/time";
import { Inline } from "../ui/markdown";
import { CommandLine, Problem } from "../ui/parts";
import { Modal } from "../ui/modal";
import { commandWith, mayAct, offer, openDialog, type Act, type ActField } from "./act";
import { inverseOf } from "./offers";

/** What the last act did, shown until the next one. */
export interface ActResult {
  act: Act;
  reply: Record<string, unknown>;
  inverse: Act | undefined;
}

/** Characters of an id that a person types to confirm. */
const TYPED = 8;

export const lastResult = signal<ActResult | undefined>(undefined);

export function ActDialog() {
  const open = openDialog.value;
  return open ? (
    <OpenActDialog
      key={open.acts.map((act) => act.title).join()}
      acts={open.acts}
      chosen={open.chosen}
    />
  ) : null;
}

function OpenActDialog({ acts, chosen: first }: { acts: Act[]; chosen: number }) {
  const chosen = useSignal(first);
  const values = useSignal<Record<string, string>>({});
  const error = useSignal<CallError | undefined>(undefined);
  const question = useSignal<{ text: string; word: string; typed: string } | undefined>(undefined);
  const isBusy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const act = acts[chosen.value] ?? acts[0];
  if (!act) return null;

  const needsName = !personName.value && act.verb !== "" && mayAct();
  const value = (field: ActField) => values.value[field.name] ?? field.value ?? "";
  const filled = Object.fromEntries(act.fields.map((field) => [field.name, value(field)]));
  const set = (name: string, text: string) => (values.value = { ...values.value, [name]: text });
  const close = () => (openDialog.value = undefined);

  const submit = async () => {
    if (isBusy.value) return;
    const name = personName.value || (values.value["person name"] ?? info.value?.user ?? "").trim();
    const typed = values.value["confirm word"]?.trim();
    error.value = undefined;
    isBusy.value = true;
    try {
      const reply = await perform(
        act.verb,
        inputOf(act, filled),
        name,
        question.value && (typed === question.value.typed ? question.value.word : typed),
      );
      personName.value = name;
      lastResult.value = { act, reply, inverse: inverseOf(act) };
      close();
    } catch (failure) {
      if (!(failure instanceof CallError)) throw failure;
      if (failure.code === "CONFIRM" && failure.confirm && !question.value) {
        if (name) personName.value = name;
        question.value = {
          text: failure.message,
          word: failure.confirm,
          typed: endOfId(failure.confirm),
        };
        requestAnimationFrame(() =>
          form.current?.querySelector<HTMLElement>("[name='confirm word']")?.focus(),
        );
      } else {
        if (failure.code === "NEEDS_NAME") personName.value = "";
        error.value = failure;
      }
    } finally {
      isBusy.value = false;
    }
  };

  return (
    <Modal label={act.title} class="act" onClose={close}>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
        }}
      >
        <h2>{(acts.length > 1 && act.about) || act.title}</h2>
        {!question.value && acts.length > 1 && (
          <fieldset class="choices">
            <legend>What to do</legend>
            {acts.map((one, i) => (
              <label key={one.label}>
                <input
                  type="radio"
                  name="choice"
                  checked={i === chosen.value}
                  onChange={() => (chosen.value = i)}
                />
                <span>{one.label}</span>
              </label>
            ))}
          </fieldset>
        )}
        {act.item && <SettledMeanwhile item={act.item} />}
        <p class="then" aria-live="polite">
          <strong>Afterwards:</strong> <Inline text={act.then} />
        </p>
        {question.value ? (
          <>
            <p class="question">
              <Inline text={question.value.text} />
            </p>
            <label class="field">
              <span>
                Type <code class="word">{question.value.typed}</code> to go on
              </span>
              <input
                name="confirm word"
                type="text"
                autocomplete="off"
                spellcheck={false}
                required
                value={values.value["confirm word"] ?? ""}
                onInput={(event) => set("confirm word", event.currentTarget.value)}
              />
            </label>
          </>
        ) : (
          <>
            {mayAct() &&
              act.verb !== "" &&
              act.fields.map((field, i) => (
                <InputField
                  key={field.name}
                  field={field}
                  value={value(field)}
                  isFirst={i === 0}
                  onInput={(text) => set(field.name, text)}
                />
              ))}
            {needsName && (
              <label class="field">
                <span>Your name, which every act of yours carries; asked once</span>
                <input
                  name="person name"
                  type="text"
                  autocomplete="name"
                  required
                  value={values.value["person name"] ?? info.value?.user ?? ""}
                  onInput={(event) => set("person name", event.currentTarget.value)}
                />
              </label>
            )}
          </>
        )}
        {error.value && <Problem error={error.value} />}
        <div class="same">
          <p class="muted">The same at a terminal</p>
          <CommandLine text={commandWith(act, filled)} />
        </div>
        {!mayAct() && act.verb !== "" && (
          <p class="muted">
            This browser only reads: its link was made without a terminal. Run the command, or{" "}
            <code>twining ui</code> at a terminal.
          </p>
        )}
        <div class="buttons">
          <button type="button" onClick={close}>
            {act.verb === "" || !mayAct() ? "Close" : "Cancel"}
          </button>
          {mayAct() && act.verb !== "" && (
            <button
              type="submit"
              class="primary"
              aria-busy={isBusy.value}
              {...(act.fields.length === 0 && { "data-first": true })}
            >
              {question.value ? `${act.label} now` : act.label} <kbd>⏎</kbd>
            </button>
          )}
        </div>
      </form>
    </Modal>
  );
}

function InputField({
  field,
  value,
  isFirst,
  onInput,
}: {
  field: ActField;
  value: string;
  isFirst: boolean;
  onInput: (text: string) => void;
}) {
  const common = {
    name: field.name,
    value,
    required: !field.optional,
    ...(isFirst && { "data-first": true }),
  };
  return (
    <label class="field">
      <span>
        {field.label}
        {field.optional && <em> (optional)</em>}
      </span>
      {field.kind === "text" && (
        <textarea {...common} rows={3} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {field.kind === "minutes" && (
        <input
          {...common}
          type="number"
          min={1}
          max={1440}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
      {field.kind === "line" && (
        <input
          {...common}
          type="text"
          autocomplete="off"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
      {field.kind === "choice" && (
        <select {...common} onChange={(event) => onInput(event.currentTarget.value)}>
          {field.options?.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      )}
    </label>
  );
}

/** Of an id its last characters are typed: they tell it from others, and are as many as one types. */
function endOfId(word: string): string {
  return /^[0-9A-Z]{26}$/.test(word) ? word.slice(-TYPED) : word;
}

/** Says so, if somebody else settled the item while the dialog was open. */
function SettledMeanwhile({ item }: { item: string }) {
  const waiting = useVerb("waiting", { limit: 50 }, "all");
  const settled = useVerb("waiting", { settled: true, limit: 20 }, "all");
  const isOpen = waiting.data.value?.items.some((one) => one.id === item) ?? true;
  const how = settled.data.value?.items.find((one) => one.id === item)?.settled;
  if (isOpen || !how) return null;
  return (
    <p class="callout" role="alert">
      Settled meanwhile: {how.how} by {how.by}, {age(how.at)}
      {how.reason ? `: ${how.reason}` : ""}
    </p>
  );
}

function inputOf(act: Act, filled: Record<string, string>): Record<string, unknown> {
  const input: Record<string, unknown> = { ...act.input };
  for (const field of act.fields) {
    const text = filled[field.name]?.trim() ?? "";
    if (text !== "") input[field.name] = field.kind === "minutes" ? Number(text) : text;
  }
  return input;
}

/** What the last act did, what its reply warns of, and what takes it back. */
export function ResultBar() {
  const result = lastResult.value;
  return (
    <div class="result" role="status">
      {result && (
        <div class="result-inner">
          <div>
            <p>
              <strong>Done</strong> {result.act.title}
            </p>
            {remarks(result.reply).map((remark) => (
              <p class="remark" key={remark}>
                {remark}
              </p>
            ))}
          </div>
          <div class="buttons">
            {result.inverse && (
              <button
                type="button"
                class="small"
                onClick={() => result.inverse && offer([result.inverse])}
              >
                {result.inverse.label}…
              </button>
            )}
            <button
              type="button"
              class="small quiet"
              aria-label="Hide what was done"
              onClick={() => (lastResult.value = undefined)}
            >
              Hide
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

/** What a reply says beside "done". None of it is swallowed. */
function remarks(reply: Record<string, unknown>): string[] {
  const list = (name: string) => (Array.isArray(reply[name]) ? (reply[name] as unknown[]) : []);
  const named = (one: unknown) => {
    if (typeof one !== "object" || one === null) return String(one);
    const { id, summary, reason } = one as Record<string, unknown>;
    return [summary ?? id, reason].filter(Boolean).join(": ");
  };
  const said: string[] = [];
  const redacted = list("redacted") as { field: string; kind: string }[];
  if (redacted.length)
    said.push(
      `Removed before it was stored: ${redacted.map(({ field, kind }) => `${kind} in ${field}`).join(", ")}`,
    );
  const told: [string, string][] = [
    ["conflicts", "Conflicts with"],
    ["refused", "Refused"],
    ["contested", "Still contested"],
    ["kept_beside", "Kept beside others"],
    ["already_active", "Already active"],
    ["already_closed", "Closed before"],
    ["not_found", "Not found"],
    ["dependents", "Rests on it"],
  ];
  for (const [name, words] of told) {
    const found = list(name);
    if (found.length)
      said.push(
        `${words}: ${found.slice(0, 5).map(named).join("; ")}${found.length > 5 ? ` and ${found.length - 5} more` : ""}`,
      );
  }
  for (const name of ["still_ruled_out", "note", "duplicate_of", "summary"]) {
    const text = reply[name];
    if (typeof text !== "string" || text === "") continue;
    said.push(
      name === "still_ruled_out"
        ? `Still ruled out: ${text}`
        : name === "duplicate_of"
          ? `Nothing was written: it repeats ${text}`
          : text,
    );
  }
  for (const text of list("notes")) said.push(String(text));
  return said;
}
