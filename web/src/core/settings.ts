// What this browser remembers.

import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const THEMES: Theme[] = ["auto", "light", "dark"];

/** Reads from localStorage; a browser may refuse it altogether. */
export function remembered(name: string): string | undefined {
  try {
    return localStorage.getItem(`twining.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`twining.${name}`);
    else localStorage.setItem(`twining.${name}`, value);
  } catch {
    // Without storage everything is asked again after a reload, and nothing else is lost.
  }
}

/** The name that a person's acts carry; asked for once. */
export const personName = signal(remembered("name") ?? "");
export const theme = signal<Theme>(THEMES.find((one) => one === remembered("theme")) ?? "auto");
/** Whether single keys act (WCAG 2.1.4). */
export const singleKeys = signal(remembered("keys") !== "off");

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
}

/** Keeps the settings and applies the theme. */
export function keepSettings(): void {
  effect(() => {
    remember("theme", theme.value === "auto" ? undefined : theme.value);
    document.documentElement.dataset.theme = theme.value;
  });
  effect(() => remember("keys", singleKeys.value ? undefined : "off"));
  effect(() => remember("name", personName.value || undefined));
}
