// A list box of any length: rows of one height, of which only those in view are elements.

import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useKeys } from "../core/keys";
import { returnFocus } from "../core/router";

/** Rows that are made above and below what is in view. */
const BEYOND = 6;
/** Where there is no room for a detail beside the list. */
const NARROW = matchMedia("(max-width: 1099px)");

export interface VirtualListProps {
  /** Its name: in element ids, and for going back to it. */
  name: string;
  label: string;
  total: number;
  rowHeight: number;
  /** The chosen row; -1 for none. */
  active: Signal<number>;
  row: (index: number) => ComponentChildren;
  /** Says which rows are in view. */
  onView?: (from: number, to: number) => void;
  onOpen?: (index: number) => void;
  /** Called with whether the person looks at the top and holds nothing. */
  onRest?: (isAtTop: boolean) => void;
}

export function VirtualList(props: VirtualListProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600 });
  const { rowHeight, total, active } = props;

  const first = Math.max(0, Math.floor(view.value.top / rowHeight) - BEYOND);
  const last = Math.min(
    total,
    Math.ceil((view.value.top + view.value.height) / rowHeight) + BEYOND,
  );

  const measure = () => {
    const element = box.current;
    if (!element) return;
    const top = element.scrollTop;
    const height = element.clientHeight;
    if (top !== view.peek().top || height !== view.peek().height) view.value = { top, height };
    props.onRest?.(top < rowHeight / 2);
  };
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => props.onView?.(first, last), [first, last, total, props.onView]);

  const choose = (index: number) => {
    if (total === 0) return false;
    active.value = Math.min(total - 1, Math.max(0, index));
    const element = box.current;
    if (!element) return true;
    const top = active.value * rowHeight;
    // In answer to a key only: state never sets the position.
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
    if (document.activeElement !== element) element.focus({ preventScroll: true });
    return true;
  };
  const isElsewhere = () => {
    const focus = document.activeElement;
    return (
      focus !== null &&
      focus !== box.current &&
      focus.matches("a,button,summary,[role=application]")
    );
  };
  useKeys({
    j: () => choose(active.value + 1),
    k: () => choose(active.value - 1),
    ArrowDown: () => !isElsewhere() && choose(active.value + 1),
    ArrowUp: () => !isElsewhere() && choose(active.value - 1),
    Home: () => !isElsewhere() && choose(0),
    End: () => !isElsewhere() && choose(total - 1),
    PageDown: () =>
      !isElsewhere() && choose(active.value + Math.floor(view.value.height / rowHeight)),
    PageUp: () =>
      !isElsewhere() && choose(active.value - Math.floor(view.value.height / rowHeight)),
    Enter: () => {
      if (document.activeElement !== box.current || active.value < 0) return false;
      props.onOpen?.(active.value);
      return true;
    },
  });
  // Back on this list after a visit elsewhere: the chosen row is in view again.
  useEffect(() => {
    if (active.value > 0 && box.current)
      box.current.scrollTop = Math.max(0, (active.value - 3) * rowHeight);
    return () => {
      if (box.current?.contains(document.activeElement)) returnFocus(null);
    };
  }, []);

  const rows = [];
  for (let index = first; index < last; index++) {
    rows.push(
      <div
        key={index}
        id={`${props.name}-${index}`}
        role="option"
        class="option"
        aria-selected={index === active.value}
        aria-setsize={total}
        aria-posinset={index + 1}
        style={{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
        onClick={() => {
          active.value = index;
          if (NARROW.matches) props.onOpen?.(index);
        }}
        onDblClick={() => props.onOpen?.(index)}
      >
        {props.row(index)}
      </div>,
    );
  }
  const isActiveShown = active.value >= first && active.value < last;
  return (
    <div
      ref={box}
      class="virtual"
      role="listbox"
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={isActiveShown ? `${props.name}-${active.value}` : undefined}
      data-key={`list-${props.name}`}
      style={{ maxHeight: `${total * rowHeight}px` }}
      onScroll={measure}
      onFocus={() => {
        if (active.value < 0 && total > 0 && box.current?.matches(":focus-visible"))
          active.value = Math.ceil(view.peek().top / rowHeight);
      }}
    >
      <div role="presentation" style={{ height: `${total * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  );
}
