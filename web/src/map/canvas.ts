// A large graph on a canvas: while it moves the last picture is moved; when it stands, a crisp
// one is drawn in slices that are shorter than a frame.

import type { Graph, GraphNode } from "../core/types";
import { visible } from "../core/visible";
import type { Camera, Size } from "./camera";
import { namedNodes, shortName } from "./names";

/** Milliseconds of a slice. */
const SLICE_MS = 6;
/** Milliseconds without a move after which the map stands. */
const STANDS_MS = 60;
/** Things that are drawn between two looks at the clock. */
const STEP = 400;
/** The picture is this much larger than the view, so that a move shows no empty edge at once. */
const OVERSIZE = 1.3;

interface Picture {
  canvas: HTMLCanvasElement;
  camera: Camera;
}

interface Colours {
  edge: string;
  text: string;
  paper: string;
  kinds: string[];
}

export class CanvasMap {
  private picture: Picture | undefined;
  private spare: HTMLCanvasElement = document.createElement("canvas");
  private size: Size = { width: 1, height: 1 };
  private byId = new Map<string, GraphNode>();
  private kinds: string[];
  private byDegree: GraphNode[];
  private drawing = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** When the last crisp picture was done; a bench reads it. */
  crispAt = 0;

  constructor(
    private view: HTMLCanvasElement,
    private graph: Graph,
  ) {
    for (const node of graph.nodes) this.byId.set(node.id, node);
    this.kinds = [...new Set(graph.nodes.map((node) => node.kind))].sort();
    this.byDegree = [...graph.nodes].sort((a, b) => b.degree - a.degree);
  }

  resize(size: Size, camera: Camera): void {
    this.size = size;
    const ratio = devicePixelRatio;
    this.view.width = Math.round(size.width * ratio);
    this.view.height = Math.round(size.height * ratio);
    this.move(camera);
    this.draw(camera);
  }

  /** Shows the last picture from here, and draws a new one once nothing moves. */
  move(camera: Camera): void {
    this.drawing++;
    this.present(camera);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(camera), STANDS_MS);
  }

  stop(): void {
    this.drawing++;
    clearTimeout(this.timer);
  }

  /** The node under a point of the view, if there is one near. */
  at(camera: Camera, px: number, py: number): GraphNode | undefined {
    const x = camera.x + (px - this.size.width / 2) / camera.scale;
    const y = camera.y + (py - this.size.height / 2) / camera.scale;
    let best: GraphNode | undefined;
    let nearest = 12 / camera.scale;
    for (const node of this.graph.nodes) {
      const distance = Math.hypot((node.x ?? 0) - x, (node.y ?? 0) - y);
      if (distance < nearest) {
        nearest = distance;
        best = node;
      }
    }
    return best;
  }

  private present(camera: Camera): void {
    const context = this.view.getContext("2d", { alpha: false });
    if (!context) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.colours().paper;
    context.fillRect(0, 0, this.view.width, this.view.height);
    if (!this.picture) return;
    const { canvas, camera: from } = this.picture;
    const zoom = camera.scale / from.scale;
    const ratio = devicePixelRatio;
    const width = canvas.width * zoom;
    const height = canvas.height * zoom;
    const left = this.view.width / 2 + (from.x - camera.x) * camera.scale * ratio - width / 2;
    const top = this.view.height / 2 + (from.y - camera.y) * camera.scale * ratio - height / 2;
    context.imageSmoothingEnabled = zoom !== 1;
    context.drawImage(canvas, left, top, width, height);
  }

  /** Draws a new picture aside, slice by slice, and shows it when it is whole. */
  private draw(camera: Camera): void {
    const drawing = ++this.drawing;
    const canvas = this.spare;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(this.size.width * OVERSIZE * ratio);
    canvas.height = Math.round(this.size.height * OVERSIZE * ratio);
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) return;
    const steps = this.steps(context, camera, canvas, ratio);
    const slice = () => {
      if (drawing !== this.drawing) return;
      const end = performance.now() + SLICE_MS;
      while (performance.now() < end) {
        if (!steps.next().done) continue;
        this.spare = this.picture?.canvas ?? document.createElement("canvas");
        this.picture = { canvas, camera };
        this.present(camera);
        this.crispAt = performance.now();
        this.view.dataset.crisp = String(Math.round(this.crispAt));
        return;
      }
      requestAnimationFrame(slice);
    };
    slice();
  }

  private *steps(
    context: CanvasRenderingContext2D,
    camera: Camera,
    canvas: HTMLCanvasElement,
    ratio: number,
  ): Generator<void> {
    const colours = this.colours();
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const x = (node: GraphNode) =>
      canvas.width / 2 + ((node.x ?? 0) - camera.x) * camera.scale * ratio;
    const y = (node: GraphNode) =>
      canvas.height / 2 + ((node.y ?? 0) - camera.y) * camera.scale * ratio;
    const isSeen = (px: number, py: number) =>
      px > -20 && py > -20 && px < canvas.width + 20 && py < canvas.height + 20;
    context.strokeStyle = colours.edge;
    context.lineWidth = ratio * 0.6;
    for (let i = 0; i < this.graph.edges.length; i += STEP) {
      context.beginPath();
      for (const edge of this.graph.edges.slice(i, i + STEP)) {
        const from = this.byId.get(edge.from);
        const to = this.byId.get(edge.to);
        if (!from || !to) continue;
        const [x1, y1, x2, y2] = [x(from), y(from), x(to), y(to)];
        if (!isSeen(x1, y1) && !isSeen(x2, y2)) continue;
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
      }
      context.stroke();
      yield;
    }
    for (const [k, kind] of this.kinds.entries()) {
      const nodes = this.graph.nodes.filter((node) => node.kind === kind);
      context.fillStyle = colours.kinds[k % colours.kinds.length] ?? colours.text;
      for (let i = 0; i < nodes.length; i += STEP) {
        context.beginPath();
        for (const node of nodes.slice(i, i + STEP)) {
          const [px, py] = [x(node), y(node)];
          if (!isSeen(px, py)) continue;
          const r = radius(node, camera) * ratio;
          context.moveTo(px + r, py);
          context.arc(px, py, r, 0, 2 * Math.PI);
        }
        context.fill();
        yield;
      }
    }
    context.fillStyle = colours.text;
    context.strokeStyle = colours.paper;
    context.lineWidth = 3 * ratio;
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    const seen = this.byDegree.filter((node) => isSeen(x(node), y(node)));
    const named = namedNodes(seen, camera);
    for (const node of seen) {
      if (!named.has(node.id)) continue;
      const name = visible(shortName(node.name));
      const [left, base] = [x(node) + (radius(node, camera) + 4) * ratio, y(node) - 5 * ratio];
      context.strokeText(name, left, base);
      context.fillText(name, left, base);
    }
  }

  private colours(): Colours {
    const style = getComputedStyle(this.view);
    const value = (name: string) => style.getPropertyValue(name).trim();
    return {
      edge: value("--map-edge"),
      text: style.color,
      paper: style.backgroundColor,
      kinds: [1, 2, 3, 4, 5, 6].map((i) => value(`--kind-${i}`)),
    };
  }
}

/** Pixels of a node: more for one with more edges, less when far away. */
export function radius(node: GraphNode, camera: Camera): number {
  const size = 3 + Math.min(7, Math.sqrt(node.degree));
  return Math.max(1.2, Math.min(size, size * camera.scale * 1.5));
}
