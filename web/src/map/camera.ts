// Where the map is looked at from: a point in its middle, and how many pixels a unit has.

import type { GraphNode } from "../core/types";

export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

/** Pixels around the nodes; their names stand to the right of them. */
const MARGIN = 48;
const NAME = 170;
const SMALLEST = 0.01;
const LARGEST = 20;

/** A camera that sees every node. */
export function fitted(nodes: readonly GraphNode[], { width, height }: Size): Camera {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x = 0, y = 0 } of nodes) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  if (left > right) return { x: 0, y: 0, scale: 1 };
  const names = Math.min(NAME, width / 4);
  const wide = (width - 2 * MARGIN - names) / Math.max(1, right - left);
  const high = (height - 2 * MARGIN) / Math.max(1, bottom - top);
  const scale = clamped(Math.min(wide, high, 2));
  return { x: (left + right) / 2 + names / 2 / scale, y: (top + bottom) / 2, scale };
}

/** Moves by pixels. */
export function panned(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x + dx / camera.scale, y: camera.y + dy / camera.scale };
}

/** Zooms so that the point under these pixels from the middle stays where it is. */
export function zoomed(camera: Camera, factor: number, dx = 0, dy = 0): Camera {
  const scale = clamped(camera.scale * factor);
  const [x, y] = [camera.x + dx / camera.scale, camera.y + dy / camera.scale];
  return { x: x - dx / scale, y: y - dy / scale, scale };
}

function clamped(scale: number): number {
  return Math.min(LARGEST, Math.max(SMALLEST, scale));
}
