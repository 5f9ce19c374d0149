// Pages of chunks that are loaded when they are first shown, or when the page has time.

import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { afterRender, focusHeading } from "../core/router";

type Chunk = () => Promise<Record<string, unknown>>;

/** Milliseconds after which all chunks are fetched, so that the next page is there at once. */
const IDLE_MS = 1500;
const chunks = new Set<Chunk>();
setTimeout(() => chunks.forEach((load) => void load().catch(() => undefined)), IDLE_MS);

export function later<P extends object>(load: Chunk, name: string): FunctionComponent<P> {
  chunks.add(load);
  const loaded = signal<FunctionComponent<P> | undefined>(undefined);
  return (props: P) => {
    const Loaded = loaded.value;
    useEffect(() => {
      if (loaded.peek()) return;
      void load().then(
        (chunk) => {
          loaded.value = chunk[name] as FunctionComponent<P>;
          if (document.activeElement?.matches("h1, body")) afterRender(focusHeading);
        },
        () => undefined,
      );
    }, []);
    return Loaded ? (
      <Loaded {...props} />
    ) : (
      <h1 tabIndex={-1} class="loading">
        Loading …
      </h1>
    );
  };
}
