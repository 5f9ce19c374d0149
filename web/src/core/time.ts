// Times: short ages to read, whole times to hover and copy.

import { signal } from "@preact/signals";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The current minute, so that ages grow while one looks. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, MINUTE / 2);
addEventListener(
  "visibilitychange",
  () => {
    now.value = Date.now();
  },
  true,
);

/** `now`, `12 min`, `3 h`, `yesterday`, `4 d`, then the date. */
export function age(at: string): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return at;
  const passed = now.value - then;
  if (passed < -MINUTE) return clock(at);
  if (passed < MINUTE) return "now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h`;
  if (passed < 2 * DAY) return "yesterday";
  if (passed < 30 * DAY) return `${Math.floor(passed / DAY)} d`;
  return new Date(then).toISOString().slice(0, 10);
}

/** `14:34`, with the date where it is another day. */
export function clock(at: string): string {
  const then = new Date(at);
  if (Number.isNaN(then.getTime())) return at;
  const two = (n: number) => String(n).padStart(2, "0");
  const time = `${two(then.getHours())}:${two(then.getMinutes())}`;
  const today = new Date(now.value).toDateString() === then.toDateString();
  return today
    ? time
    : `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`;
}

/** How long ago, in words for a heading: `9 h`, `3 d`. */
export function span(from: string): string {
  const passed = Math.max(0, now.value - Date.parse(from));
  if (passed < HOUR) return `${Math.max(1, Math.round(passed / MINUTE))} min`;
  if (passed < 2 * DAY) return `${Math.round(passed / HOUR)} h`;
  return `${Math.round(passed / DAY)} d`;
}

export function hoursAgo(hours: number): string {
  return new Date(Date.now() - hours * HOUR).toISOString();
}

export function count(n: number, one: string, many = one.endsWith("s") ? `${one}es` : `${one}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}
