// Answers that a page shows, asked again when a notice says that they may have changed.
//
// Each answer has at most one request in flight. A notice that arrives meanwhile makes one more
// request afterwards, however many there were. A hidden tab asks when it is looked at again.

import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { CallError, read } from "./api";
import type { Input, Kind, Output, VerbName } from "./types";

export interface Loaded<T> {
  data: ReadonlySignal<T | undefined>;
  error: ReadonlySignal<CallError | undefined>;
}

/** Something that asks again when records of these kinds change. */
export interface Refreshable {
  kinds: readonly Kind[] | "all";
  /** Also in a tab that is not looked at. */
  evenHidden?: boolean;
  refresh(): void;
}

/** Answers that are kept after their page is left, so that going back shows them at once. */
const KEPT = 60;

const shown = new Set<Refreshable>();
const loaders = new Map<string, Loader<VerbName>>();
const waitingForView = new Set<Refreshable>();

class Loader<V extends VerbName> implements Refreshable, Loaded<Output<V>> {
  readonly data = signal<Output<V> | undefined>(undefined);
  readonly error = signal<CallError | undefined>(undefined);
  users = 0;
  evenHidden = false;
  private isAsking = false;
  private isStale = false;

  constructor(
    private verb: V,
    private input: Input<V>,
    readonly kinds: readonly Kind[] | "all",
  ) {}

  refresh(): void {
    this.isStale = true;
    if (!this.isAsking) void this.ask();
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    while (this.isStale) {
      this.isStale = false;
      try {
        this.data.value = await read(this.verb, this.input);
        this.error.value = undefined;
      } catch (error) {
        this.error.value =
          error instanceof CallError ? error : new CallError(0, "INTERNAL", String(error));
      }
    }
    this.isAsking = false;
  }
}

/** The answer of a reading verb, kept up to date while a component shows it. */
export function useVerb<V extends VerbName>(
  verb: V,
  input: Input<V>,
  kinds: readonly Kind[] | "all",
  evenHidden = false,
): Loaded<Output<V>> {
  const key = `${verb} ${JSON.stringify(input)}`;
  const loader = useMemo(() => {
    const known =
      loaders.get(key) ?? (new Loader(verb, input, kinds) as unknown as Loader<VerbName>);
    // The order of the map is the order of use.
    loaders.delete(key);
    loaders.set(key, known);
    return known;
  }, [key]);
  useEffect(() => {
    loader.users++;
    loader.evenHidden ||= evenHidden;
    shown.add(loader);
    loader.refresh();
    return () => {
      if (--loader.users === 0) shown.delete(loader);
      for (const [old, one] of loaders) {
        if (loaders.size <= KEPT) break;
        if (one.users === 0) loaders.delete(old);
      }
    };
  }, [loader]);
  return loader as unknown as Loaded<Output<V>>;
}

/** Tells something to ask again, while a component shows it. */
export function useRefresh(one: Refreshable): void {
  useEffect(() => {
    shown.add(one);
    return () => void shown.delete(one);
  }, [one]);
}

export function noticeArrived(kinds: readonly Kind[]): void {
  for (const one of shown) {
    if (one.kinds === "all" || kinds.some((kind) => one.kinds.includes(kind))) refreshOrWait(one);
  }
}

export function refreshAll(): void {
  shown.forEach(refreshOrWait);
}

function refreshOrWait(one: Refreshable): void {
  if (document.hidden && !one.evenHidden) waitingForView.add(one);
  else one.refresh();
}

addEventListener(
  "visibilitychange",
  () => {
    if (document.hidden) return;
    const late = [...waitingForView];
    waitingForView.clear();
    late.forEach((one) => one.refresh());
  },
  true,
);
