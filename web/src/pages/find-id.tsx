// Records by an unambiguous beginning of their id; of the newest, an end will do.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { read } from "../core/api";
import { go } from "../core/router";
import { PageHead } from "../ui/parts";

const WHOLE_ID = 26;
/** How many of the newest records are looked through for the end of an id. */
const LOOKED_THROUGH = 500;

interface FullId {
  id?: string;
  isMissing?: boolean;
}

/** The whole id; the page moves to the address of the record it belongs to. */
export function useFullId(given: string, kind: "d" | "e"): FullId {
  const found = useSignal<FullId>(given.length >= WHOLE_ID ? { id: given } : {});
  useEffect(() => {
    if (given.length >= WHOLE_ID) return;
    let isGone = false;
    void lookUp(given).then(
      (match) => {
        if (isGone) return;
        if (!match) found.value = { isMissing: true };
        else if (match.kind !== kind || match.id !== given) go(`/${match.kind}/${match.id}`, true);
        else found.value = { id: match.id };
      },
      () => (found.value = { isMissing: true }),
    );
    return () => void (isGone = true);
  }, [given]);
  return found.value;
}

async function lookUp(part: string): Promise<{ id: string; kind: "d" | "e" } | undefined> {
  const found = await read("read", { ids: [part] });
  if (found.decisions?.[0]) return { id: found.decisions[0].id, kind: "d" };
  if (found.entries[0]) return { id: found.entries[0].id, kind: "e" };
  const end = part.toUpperCase();
  const fits = ({ id }: { id: string }) => id.endsWith(end);
  const [decisions, entries] = await Promise.all([
    read("decisions", { limit: LOOKED_THROUGH }),
    read("recent", { n: LOOKED_THROUGH }),
  ]);
  const matches = [
    ...decisions.decisions.filter(fits).map(({ id }) => ({ id, kind: "d" as const })),
    ...entries.entries.filter(fits).map(({ id }) => ({ id, kind: "e" as const })),
  ];
  return matches.length === 1 ? matches[0] : undefined;
}

export function NotFound({ id, what }: { id: string; what: string }) {
  return (
    <PageHead
      title={`There is no ${what} ${id}`}
      note="It may be on another branch, archived, or its id may be cut. Ctrl K finds records by words."
    />
  );
}
