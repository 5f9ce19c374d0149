// Stored text is shown as text: characters that hide or turn it appear as `U+XXXX`.
//
// This happens where elements are made, for every text and label of every page, so that
// no page can forget it. What is sent back to the server stays as it was stored.

import { Fragment, options, type ComponentChildren, type VNode } from "preact";
import { HIDDEN } from "../hidden.gen";

const hex = (code: number) => `\\u{${code.toString(16)}}`;
const HIDDEN_CHARACTER = new RegExp(
  `[${HIDDEN.map(([from, to]) => `${hex(from)}-${hex(to)}`).join("")}]`,
  "gu",
);
const SPOKEN = ["title", "aria-label", "aria-description", "placeholder", "alt"];

export function visible(text: string): string {
  return text.replace(
    HIDDEN_CHARACTER,
    (c) => `U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`,
  );
}

function shown(children: ComponentChildren): ComponentChildren {
  if (typeof children === "string") return visible(children);
  return Array.isArray(children) ? children.map(shown) : children;
}

/** Makes every element show its texts through [`visible`]. Called once, before the first render. */
export function showHiddenCharacters(): void {
  const before = options.vnode;
  options.vnode = (vnode: VNode) => {
    if (typeof vnode.type === "string" || vnode.type === Fragment) {
      const props = vnode.props as Record<string, unknown>;
      if (props.children !== undefined) props.children = shown(props.children as ComponentChildren);
      for (const name of SPOKEN) {
        if (typeof props[name] === "string") props[name] = visible(props[name]);
      }
    }
    before?.(vnode);
  };
}
