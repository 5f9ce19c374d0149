// One entry. An id of a decision leads to the decision's page.

import { useEffect } from "preact/hooks";
import { chosenActs, offer } from "../acts/act";
import { useKeys } from "../core/keys";
import { useVerb } from "../core/loader";
import { go } from "../core/router";
import { Answer, PageHead } from "../ui/parts";
import { ActButtons, actsOfEntry, EntryBody, EntryType } from "../ui/records";
import { NotFound, useFullId } from "./find-id";

export function EntryPage({ id }: { id: string }) {
  const found = useFullId(id, "e");
  return found.isMissing ? (
    <NotFound id={id} what="entry" />
  ) : found.id ? (
    <Whole id={found.id} />
  ) : (
    <PageHead title="Entry" />
  );
}

function Whole({ id }: { id: string }) {
  const records = useVerb("read", { ids: [id] }, ["entry", "decision"]);
  const entry = records.data.value?.entries[0];
  const decision = records.data.value?.decisions?.[0];
  useEffect(() => {
    if (decision) go(`/d/${decision.id}`, true);
  }, [decision?.id]);
  const acts = entry ? actsOfEntry(entry) : [];
  useEffect(() => {
    chosenActs.value = acts;
    return () => void (chosenActs.value = []);
  }, [entry?.id]);
  const byVerb = (verb: string) => offer(acts.filter((act) => act.verb === verb));
  useKeys({ a: () => byVerb("post"), e: () => byVerb("dismiss"), s: () => offer(acts) });
  if (records.data.value && !entry && !decision) return <NotFound id={id} what="entry" />;
  return (
    <>
      <PageHead
        trail={[["Stream", "/stream"]]}
        title={entry?.summary ?? "Entry"}
        badge={entry && <EntryType type={entry.entry_type} />}
      >
        {entry && <ActButtons acts={acts} />}
      </PageHead>
      <Answer of={records}>
        {() =>
          entry && (
            <section class="panel pad" aria-label="The entry">
              <EntryBody entry={entry} />
            </section>
          )
        }
      </Answer>
    </>
  );
}
