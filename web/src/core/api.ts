// Asks the server: one verb, one call, exactly the tool's JSON.

import { signal } from "@preact/signals";
import { remember, remembered } from "./settings";
import type { Input, Output, VerbName } from "./types";

/** What the server says about itself and the project. */
export interface ServerInfo {
  project: string;
  path: string;
  branch?: string;
  version: string;
  may_write: boolean;
  user: string;
  port: number;
  exists: boolean;
  verbs: {
    name: string;
    title: string;
    command: string;
    effect: string;
    audience: string;
    asks: boolean;
  }[];
}

/** A call that was not carried out. */
export class CallError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint?: string,
    readonly command?: string,
    /** The word that a person must type to go on. */
    readonly confirm?: string,
  ) {
    super(message);
  }
}

/** Why this browser may or may not ask. */
export type Access = "open" | "no_key" | "code_used" | "code_expired";

export const info = signal<ServerInfo | undefined>(undefined);
export const access = signal<Access>("open");
let key = remembered("key");
/** Done when the code in the address, if there is one, is a key. Everything else waits for it. */
let exchanged: Promise<void> = Promise.resolve();

/** Trades the code in the address for a key, and takes it out of the address. */
export function startExchange(): void {
  exchanged = exchangeCode();
}

async function exchangeCode(): Promise<void> {
  const code = /^#c=(.+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    const answer = await send("/key", { code: decodeURIComponent(code) }, {});
    key = String(answer.key);
    remember("key", key);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    // An older key may still be good: a link that was clicked twice is no reason to lock out.
    if (!key) access.value = error.code === "CODE_USED" ? "code_used" : "code_expired";
  }
}

/** Takes over a key that another tab was given. */
export function adoptKey(): boolean {
  const current = remembered("key");
  if (!current || current === key) return false;
  key = current;
  access.value = "open";
  return true;
}

export async function loadInfo(): Promise<void> {
  await exchanged;
  info.value = (await receive(
    await request("/api", { headers: authorization() }),
  )) as unknown as ServerInfo;
}

/** Calls a verb that only reads. */
export async function read<V extends VerbName>(
  verb: V,
  input: Input<V>,
  signal?: AbortSignal,
): Promise<Output<V>> {
  await exchanged;
  return send(`/api/${verb}`, input, authorization(), signal) as Promise<Output<V>>;
}

/** Calls a verb that writes, as the person `name`; `confirm` is the word they typed, if one was asked for. */
export function act(
  verb: string,
  input: Record<string, unknown>,
  name: string,
  confirm?: string,
): Promise<Record<string, unknown>> {
  const headers: Record<string, string> = {
    ...authorization(),
    "twining-user": encodeURIComponent(name),
  };
  if (confirm !== undefined) headers["twining-confirm"] = encodeURIComponent(confirm);
  return send(`/api/${verb}`, input, headers);
}

/** Opens the stream of notices. */
export async function openEvents(
  after: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  await exchanged;
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
  const response = await request(`/events${query}`, { headers: authorization(), signal });
  if (!response.ok) await receive(response);
  return response;
}

function authorization(): Record<string, string> {
  return key ? { authorization: `Bearer ${key}` } : {};
}

async function send(
  path: string,
  body: unknown,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  return receive(
    await request(path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: signal ?? null,
    }),
  );
}

async function request(path: string, how: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...how, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (how.signal?.aborted) throw error;
    throw new CallError(
      0,
      "UNREACHABLE",
      "the server does not answer",
      "it may have ended: run `twining ui` again",
      "twining ui",
    );
  }
}

async function receive(response: Response): Promise<Record<string, unknown>> {
  let answer: Record<string, unknown>;
  try {
    answer = (await response.json()) as Record<string, unknown>;
  } catch {
    throw new CallError(
      response.status,
      "UNREADABLE",
      `the server answered ${response.status} without JSON`,
    );
  }
  if (response.ok && answer.error !== true) {
    access.value = "open";
    return answer;
  }
  const text = (name: string) => (typeof answer[name] === "string" ? answer[name] : undefined);
  const code = text("code") ?? "INTERNAL";
  if (response.status === 401 && access.value === "open") access.value = "no_key";
  throw new CallError(
    response.status,
    code,
    text("message") ?? `the server answered ${response.status}`,
    text("hint"),
    text("command"),
    text("confirm"),
  );
}
