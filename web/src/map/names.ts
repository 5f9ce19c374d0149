// Which nodes show their names: the most connected, as long as no name covers another.

import type { GraphNode } from "../core/types";
import type { Camera } from "./camera";

const MOST = 80;
const LONGEST = 32;
/** Pixels of a character, of the gap before a name, and of a line. */
const [CHARACTER, GAP, LINE] = [7, 20, 15];

/** Of nodes in this order, those that show their names. */
export function namedNodes(nodes: readonly GraphNode[], camera: Camera): Set<string> {
  const boxes: [number, number, number][] = [];
  const named = new Set<string>();
  for (const node of nodes.slice(0, 4 * MOST)) {
    if (named.size === MOST) break;
    const [x, y] = [(node.x ?? 0) * camera.scale, (node.y ?? 0) * camera.scale];
    const width = shortName(node.name).length * CHARACTER + GAP;
    if (
      boxes.some(
        ([left, top, wide]) => x < left + wide && left < x + width && Math.abs(y - top) < LINE,
      )
    )
      continue;
    boxes.push([x, y, width]);
    named.add(node.id);
  }
  return named;
}

export function shortName(name: string): string {
  return name.length > LONGEST ? `${name.slice(0, LONGEST - 2)}…` : name;
}
