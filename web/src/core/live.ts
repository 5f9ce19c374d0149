// The stream of notices: what changed, never the records themselves.
//
// One tab holds the stream, chosen by a Web Lock, and tells the others over a
// BroadcastChannel: browsers allow six connections to a server, and nine tabs must work.
// Where there are no Web Locks every tab has its own stream.

import { computed, signal } from "@preact/signals";
import { access, adoptKey, CallError, loadInfo, openEvents } from "./api";
import { noticeArrived, refreshAll } from "./loader";
import type { Kind } from "./types";

export interface Notice {
  cursor: string;
  kinds?: Kind[];
  ids?: string[];
  more?: boolean;
  resync?: boolean;
}

type StreamState = "connecting" | "live" | "reconnecting" | "ended";
type Message =
  { notice: Notice } | { state: StreamState; cursor: string | undefined } | { hello: true };

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;
/** Attempts after which the server is taken for ended; it is still asked, in case it comes back. */
const ATTEMPTS = 6;

const streamState = signal<StreamState>("connecting");
/** Whether the person paused the page. */
export const paused = signal(false);
export const liveState = computed(() =>
  paused.value && streamState.value === "live" ? "paused" : streamState.value,
);
/** Notices so far; the status line reads it. */
export const lastNotice = signal<Notice | undefined>(undefined);

let cursor: string | undefined;
let missed: Notice[] = [];
let isLeader = false;
let retryNow: (() => void) | undefined;
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("twining.live") : undefined;

/** Starts to listen, as leader or behind one. */
export function startLive(): void {
  channel?.addEventListener("message", (event: MessageEvent<Message>) => hear(event.data));
  if (navigator.locks) {
    channel?.postMessage({ hello: true } satisfies Message);
    void navigator.locks.request("twining.live", lead);
  } else void lead();
  addEventListener("storage", (event) => {
    if (event.key === "twining.key" && adoptKey()) comeBack();
  });
}

/** Pauses the page, or catches up with what it missed. */
export function togglePause(): void {
  paused.value = !paused.value;
  if (paused.value) return;
  const late = missed;
  missed = [];
  late.forEach(apply);
}

function hear(message: Message): void {
  if ("hello" in message) {
    if (isLeader) tell({ state: streamState.value, cursor });
  } else if (isLeader) return;
  else if ("state" in message) {
    // Known to the next leader, who asks for what came since.
    cursor = message.cursor;
    setState(message.state);
  } else receive(message.notice);
}

function tell(message: Message): void {
  channel?.postMessage(message);
}

/** Keeps a stream open as long as this tab lives. */
async function lead(): Promise<void> {
  isLeader = true;
  let wait = FIRST_WAIT_MS;
  for (let attempt = 1; ; attempt++) {
    let isRefused = false;
    try {
      await follow(() => {
        attempt = 0;
        wait = FIRST_WAIT_MS;
      });
    } catch (error) {
      isRefused = error instanceof CallError && error.status === 401;
    }
    setState(isRefused || attempt >= ATTEMPTS ? "ended" : "reconnecting");
    await new Promise<void>((resolve) => {
      retryNow = resolve;
      // A refused key does not get better: only a new one helps.
      if (!isRefused) setTimeout(resolve, wait);
    });
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** Reads one stream to its end. */
async function follow(opened: () => void): Promise<void> {
  const response = await openEvents(cursor, new AbortController().signal);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  const isReturn = streamState.value !== "connecting";
  setState("live");
  opened();
  if (isReturn) void loadInfo().catch(() => undefined);
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const data = text
        .slice(0, end)
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5))
        .join("\n");
      text = text.slice(end + 2);
      if (!data) continue;
      const notice = JSON.parse(data) as Notice;
      tell({ notice });
      receive(notice);
    }
  }
}

function setState(state: StreamState): void {
  if (isLeader && streamState.value !== state) tell({ state, cursor });
  streamState.value = state;
}

function receive(notice: Notice): void {
  cursor = notice.cursor;
  if (!notice.resync && !notice.kinds?.length) return;
  if (paused.value) missed.push(notice);
  else apply(notice);
}

function apply(notice: Notice): void {
  lastNotice.value = notice;
  const kinds = notice.kinds ?? [];
  if (notice.resync || kinds.includes("head")) {
    void loadInfo().catch(() => undefined);
    refreshAll();
  } else noticeArrived(kinds);
}

/** A new key was given: ask at once, and everything again. */
function comeBack(): void {
  access.value = "open";
  cursor = undefined;
  if (isLeader) setState("reconnecting");
  retryNow?.();
  void loadInfo().catch(() => undefined);
  refreshAll();
}
