// A long list of which only the looked-at pages are asked for.
//
// Rows are kept by their distance from the end, because new records come in at the top: what is
// loaded stays loaded when the list grows. `shown` is the length the page shows. It follows
// `total` only when nobody looks or points at the rows, so that nothing moves under them.

import { batch, signal } from "@preact/signals";
import { CallError } from "../core/api";
import type { Refreshable } from "../core/loader";
import type { Kind } from "../core/types";

export interface Page<T> {
  rows: T[];
  total: number;
}

const PAGE = 100;

export class PagedList<T extends { id: string }> implements Refreshable {
  readonly total = signal(0);
  readonly shown = signal(0);
  readonly isLoaded = signal(false);
  readonly error = signal<CallError | undefined>(undefined);
  /** Grows with every change of the rows, so that a component that shows some is drawn again. */
  readonly version = signal(0);
  private rows = new Map<number, T>();
  /** Positions whose rows were loaded since the last notice; the others may have changed. */
  private current = new Set<number>();
  private wanted = { from: 0, to: PAGE };
  private isAsking = false;
  private isStale = true;
  private generation = 0;

  constructor(
    readonly kinds: readonly Kind[] | "all",
    private load: (offset: number, limit: number) => Promise<Page<T>>,
    /** Whether rows may move now. */
    private mayMove: () => boolean = () => true,
    /** Whether a row may change after it was made. */
    private rowsChange = false,
  ) {}

  /** The row at an index of what is shown, if it is loaded. */
  at(index: number): T | undefined {
    return this.rows.get(this.shown.value - 1 - index);
  }

  indexOf(id: string): number {
    for (const [position, row] of this.rows)
      if (row.id === id) return this.shown.value - 1 - position;
    return -1;
  }

  /** Says which rows are looked at. */
  want(from: number, to: number): void {
    this.wanted = { from, to };
    if (!this.isAsking) void this.ask();
  }

  refresh(): void {
    this.isStale = true;
    if (this.rowsChange) this.current.clear();
    if (!this.isAsking) void this.ask();
  }

  /** Shows what came in meanwhile. */
  catchUp(): void {
    this.shown.value = this.total.value;
    this.version.value++;
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    try {
      for (;;) {
        const generation = this.generation;
        if (this.isStale) {
          this.isStale = false;
          this.take(0, await this.load(0, PAGE), true);
        } else {
          const missing = this.firstMissing();
          if (missing < 0) break;
          const offset = missing + this.total.value - this.shown.value;
          const page = await this.load(offset, PAGE);
          if (this.generation === generation) this.take(offset, page, false);
          if (page.rows.length === 0) break;
        }
      }
      this.error.value = undefined;
    } catch (error) {
      this.error.value =
        error instanceof CallError ? error : new CallError(0, "INTERNAL", String(error));
    }
    this.isAsking = false;
  }

  private firstMissing(): number {
    const to = Math.min(this.wanted.to, this.shown.value);
    for (let index = Math.max(0, this.wanted.from); index < to; index++) {
      if (!this.current.has(this.shown.value - 1 - index)) return index;
    }
    return -1;
  }

  private take(offset: number, page: Page<T>, isFirst: boolean): void {
    batch(() => {
      const grown = page.total - this.total.value;
      // A known row under another number: something was taken out of the middle.
      const differs = page.rows.some((row, i) => {
        const known = this.rows.get(page.total - 1 - offset - i);
        return known !== undefined && known.id !== row.id;
      });
      if (grown < 0 || differs) {
        this.rows.clear();
        this.current.clear();
        this.generation++;
        this.shown.value = page.total;
        if (!isFirst) this.isStale = true;
      } else if (
        !this.isLoaded.value ||
        this.shown.value === 0 ||
        (this.shown.value === this.total.value && this.mayMove())
      ) {
        this.shown.value = page.total;
      }
      this.total.value = page.total;
      page.rows.forEach((row, i) => {
        this.rows.set(page.total - 1 - offset - i, row);
        this.current.add(page.total - 1 - offset - i);
      });
      this.isLoaded.value = true;
      this.version.value++;
    });
  }
}
