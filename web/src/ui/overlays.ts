// Which of the page's own dialogs is open.

import { signal } from "@preact/signals";

export const paletteOpen = signal(false);
export const helpOpen = signal(false);
