// Guards: what is refused, how often that happened, and whether it was right.

import { useEffect } from "preact/hooks";
import { chosenActs, offer, type Act } from "../acts/act";
import { discardGuard, endLift, liftGuard, promoteGuard } from "../acts/offers";
import { useKeys } from "../core/keys";
import { useVerb } from "../core/loader";
import { setQuery, place } from "../core/router";
import { clock, count } from "../core/time";
import type { Guard } from "../core/types";
import { Chips } from "../ui/controls";
import {
  Age,
  AgentLink,
  Answer,
  Badge,
  Clock,
  CommandLine,
  CopyButton,
  Empty,
  Fields,
  PageHead,
  Panel,
  RowLink,
} from "../ui/parts";
import { Inline } from "../ui/markdown";
import { ActButtons, Status } from "../ui/records";
import { NotFound } from "./find-id";
import { Fired } from "./traces";

export function Guards() {
  const only = place.value.query.get("only") ?? "";
  const guards = useVerb("guards", {}, ["guard", "trace", "config"]);
  return (
    <>
      <PageHead title="Guards" />
      <div class="filters">
        <Chips
          label="Which"
          single
          options={[
            ["fired", "have fired"],
            ["proposed", "proposed"],
            ["lifted", "lifted now"],
            ["dead", "dead"],
          ]}
          chosen={[only]}
          onChange={([one]) => setQuery({ only: one })}
        />
      </div>
      <Panel title="Guards here" count={guards.data.value?.guards.length}>
        <Answer of={guards}>
          {({ guards, mistakes = [] }) => (
            <>
              {mistakes.map((one) => (
                <p class="note" key={one.file + one.line}>
                  <Badge tone="grave">mistake</Badge>{" "}
                  <code>
                    {one.file}:{one.line}
                  </code>{" "}
                  {one.message}
                  {one.suggestion ? ` (${one.suggestion})` : ""}
                </p>
              ))}
              {guards.length === 0 && (
                <Empty command="twining seed">
                  No guard is set up. What agents may not do appears here, and how often it was
                  refused.
                </Empty>
              )}
              <ul class="rows">
                {guards
                  .filter((guard) => fits(guard, only))
                  .map((guard) => (
                    <GuardRow key={guard.id} guard={guard} />
                  ))}
              </ul>
            </>
          )}
        </Answer>
      </Panel>
      <Patterns />
    </>
  );
}

function fits(guard: Guard, only: string): boolean {
  switch (only) {
    case "fired":
      return guard.fired > 0;
    case "proposed":
      return guard.proposed === true;
    case "lifted":
      return guard.bypass !== undefined;
    case "dead":
      return guard.dead !== undefined;
    default:
      return true;
  }
}

function GuardRow({ guard }: { guard: Guard }) {
  return (
    <RowLink
      href={`/g/${encodeURIComponent(guard.id)}`}
      lead={<GuardState guard={guard} />}
      side={
        guard.fired > 0 ? (
          <span>
            fired {guard.fired}×{guard.wrong > 0 ? `, ${guard.wrong} wrong` : ""}{" "}
            {guard.last_fired && <Age at={guard.last_fired} />}
          </span>
        ) : (
          <span class="muted">never fired</span>
        )
      }
      below={guard.dead ? `dead: ${guard.dead}` : guard.say}
    >
      {guard.id}
    </RowLink>
  );
}

function GuardState({ guard }: { guard: Guard }) {
  if (guard.dead) return <Badge tone="grave">dead</Badge>;
  if (guard.bypass) return <Badge tone="blocking">lifted until {clock(guard.bypass.until)}</Badge>;
  if (guard.proposed) return <Badge tone="open">proposed</Badge>;
  return <Status of={guard.action}>{guard.action}</Status>;
}

function Patterns({ guard }: { guard?: string }) {
  const patterns = useVerb("extract_patterns", {}, ["trace"]);
  const found = (patterns.data.value?.patterns ?? []).filter(
    (one) => !guard || one.guard === guard,
  );
  return (
    <Panel title="Patterns" count={found.length}>
      <Answer of={patterns}>
        {() =>
          found.length === 0 ? (
            <p class="note muted">Nothing was refused often enough to be a pattern.</p>
          ) : (
            <ul class="rows">
              {found.map((one) => (
                <li class="row" key={one.id}>
                  <div class="row-main">
                    <AgentLink name={one.agent} /> {one.action ?? one.reason}{" "}
                    <span class="muted">({one.count}×)</span>
                    <div class="row-below">
                      <Inline text={one.proposal?.say ?? one.reason} />
                      {one.made ? (
                        <>
                          {" "}
                          · <a href={`/g/${encodeURIComponent(one.made)}`}>{one.made}</a>
                        </>
                      ) : null}
                    </div>
                  </div>
                  <div class="row-side">
                    <Age at={one.last} />
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

function actsOfGuard(guard: Guard): Act[] {
  if (guard.proposed) return [promoteGuard(guard), discardGuard(guard)];
  return guard.bypass ? [endLift(guard)] : [liftGuard(guard)];
}

export function GuardPage({ id }: { id: string }) {
  const guards = useVerb("guards", {}, ["guard", "trace", "config"]);
  const guard = guards.data.value?.guards.find((one) => one.id === id);
  const acts = guard ? actsOfGuard(guard) : [];
  useEffect(() => {
    chosenActs.value = acts;
    return () => void (chosenActs.value = []);
  }, [acts.map((act) => act.title).join()]);
  useKeys({ s: () => offer(acts) });
  if (guards.data.value && !guard) return <NotFound id={id} what="guard" />;
  const silent = guard ? guard.fired - guard.right - guard.wrong : 0;
  return (
    <>
      <PageHead
        trail={[["Guards", "/guards"]]}
        title={id}
        badge={guard && <GuardState guard={guard} />}
        note={guard && `${guard.say}${guard.next_step ? ` → ${guard.next_step}` : ""}`}
      >
        {guard && <ActButtons acts={acts} />}
        <CopyButton text={`twining guard test ${id}`} label="Copy the command that tests it">
          Copy test
        </CopyButton>
      </PageHead>
      {guard?.bypass && (
        <p class="callout">
          Lifted until <Clock at={guard.bypass.until} /> by {guard.bypass.by}: {guard.bypass.reason}
        </p>
      )}
      {guard?.backtest && (
        <p class="callout">
          Would have stopped {guard.backtest.would_stop} of {count(guard.backtest.calls, "call")};{" "}
          {guard.backtest.allowed_later} of those were allowed later.
        </p>
      )}
      {guard?.dead && (
        <p class="callout">
          <Badge tone="grave">dead</Badge> {guard.dead}
        </p>
      )}
      <Fired
        guard={id}
        count={
          guard
            ? `${guard.fired}×: ${guard.right} right, ${guard.wrong} wrong, ${silent} nobody said`
            : ""
        }
      />
      {guard && (
        <div class="columns even">
          <Panel title="Where it comes from">
            <div class="pad">
              <Fields
                rows={[
                  ["From", guard.source],
                  ["Made by", guard.origin],
                  ["Checked by", guard.verify],
                  ["Health", guard.health],
                  ["Lifted", guard.lifted ? `${guard.lifted}×` : undefined],
                ]}
              />
            </div>
            <div class="pad">
              <CommandLine text={`twining guard list ${id}`} />
            </div>
          </Panel>
          <Patterns guard={id} />
        </div>
      )}
    </>
  );
}
