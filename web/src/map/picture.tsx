// The picture of a graph: as SVG with links where it is small, on a canvas where it is large.
// It moves by keys and buttons as well as by dragging.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { go, local } from "../core/router";
import { theme } from "../core/settings";
import type { Graph, GraphNode } from "../core/types";
import { fitted, panned, zoomed, type Camera, type Size } from "./camera";
import { namedNodes, shortName } from "./names";
import { CanvasMap, radius } from "./canvas";

/** Nodes up to which the picture is SVG. */
export const SVG_NODES = 300;
const STEP_PX = 80;
const ZOOM = 1.4;

export function Picture({ graph }: { graph: Graph }) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSignal<Size>({ width: 800, height: 560 });
  const camera = useSignal<Camera>({ x: 0, y: 0, scale: 1 });
  const isMoved = useRef(false);
  useLayoutEffect(() => {
    const measure = () => {
      const { width = 800, height = 560 } = box.current?.getBoundingClientRect() ?? {};
      size.value = { width, height };
      if (!isMoved.current) camera.value = fitted(graph.nodes, size.value);
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [graph]);

  const look = (next: Camera) => {
    isMoved.current = true;
    camera.value = next;
  };
  const fit = () => look(fitted(graph.nodes, size.value));
  const moves: [string, string, () => void][] = [
    ["Zoom in", "+", () => look(zoomed(camera.value, ZOOM))],
    ["Zoom out", "−", () => look(zoomed(camera.value, 1 / ZOOM))],
    ["Move left", "←", () => look(panned(camera.value, -STEP_PX, 0))],
    ["Move right", "→", () => look(panned(camera.value, STEP_PX, 0))],
    ["Move up", "↑", () => look(panned(camera.value, 0, -STEP_PX))],
    ["Move down", "↓", () => look(panned(camera.value, 0, STEP_PX))],
    ["Show all", "all", fit],
  ];
  const byKey: Record<string, number> = {
    "+": 0,
    "=": 0,
    "-": 1,
    ArrowLeft: 2,
    ArrowRight: 3,
    ArrowUp: 4,
    ArrowDown: 5,
    "0": 6,
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = moves[byKey[event.key] ?? -1];
    if (!move || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    move[2]();
  };
  const drag = useDrag(camera, look);
  const isSmall = graph.nodes.length <= SVG_NODES;
  return (
    <div class="map-frame">
      <div class="map-tools" role="group" aria-label="Move the picture">
        {moves.map(([label, sign, move]) => (
          <button
            key={label}
            type="button"
            class="small"
            aria-label={label}
            title={label}
            onClick={move}
          >
            {sign}
          </button>
        ))}
      </div>
      <div ref={box} class="map-box" {...drag} onKeyDown={onKeyDown}>
        {isSmall ? (
          <SvgPicture graph={graph} camera={camera.value} size={size.value} />
        ) : (
          <CanvasPicture graph={graph} camera={camera.value} size={size.value} />
        )}
      </div>
    </div>
  );
}

function useDrag(camera: { value: Camera }, look: (next: Camera) => void) {
  const from = useRef<{ x: number; y: number } | undefined>(undefined);
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0) from.current = { x: event.clientX, y: event.clientY };
    },
    onPointerMove: (event: PointerEvent) => {
      if (!from.current || event.buttons === 0) return;
      look(panned(camera.value, from.current.x - event.clientX, from.current.y - event.clientY));
      from.current = { x: event.clientX, y: event.clientY };
    },
    onPointerUp: () => (from.current = undefined),
    onWheel: (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
      event.preventDefault();
      look(zoomed(camera.value, event.deltaY < 0 ? 1.15 : 1 / 1.15));
    },
  };
}

interface PictureProps {
  graph: Graph;
  camera: Camera;
  size: Size;
}

function SvgPicture({ graph, camera, size }: PictureProps) {
  const byId = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);
  const byDegree = useMemo(() => [...graph.nodes].sort((a, b) => b.degree - a.degree), [graph]);
  const kinds = useMemo(() => [...new Set(graph.nodes.map((node) => node.kind))].sort(), [graph]);
  const named = namedNodes(byDegree, camera);
  const x = (node: GraphNode) => size.width / 2 + ((node.x ?? 0) - camera.x) * camera.scale;
  const y = (node: GraphNode) => size.height / 2 + ((node.y ?? 0) - camera.y) * camera.scale;
  return (
    <svg
      width={size.width}
      height={size.height}
      role="group"
      aria-label={`Picture of ${graph.nodes.length} nodes; the table has the same`}
    >
      <g class="edges">
        {graph.edges.map((edge, i) => {
          const from = byId.get(edge.from);
          const to = byId.get(edge.to);
          return from && to && <line key={i} x1={x(from)} y1={y(from)} x2={x(to)} y2={y(to)} />;
        })}
      </g>
      {graph.nodes.map((node) => (
        <a
          key={node.id}
          href={local(node.href)}
          class={`node ${named.has(node.id) ? "named" : ""}`}
          aria-label={`${node.name}, ${node.kind}`}
        >
          <circle class="target" cx={x(node)} cy={y(node)} r="14" />
          <circle
            class={`kind-${(kinds.indexOf(node.kind) % 6) + 1}`}
            cx={x(node)}
            cy={y(node)}
            r={radius(node, camera) + 1}
          />
          <text x={x(node) + radius(node, camera) + 4} y={y(node) - 5}>
            {shortName(node.name)}
          </text>
        </a>
      ))}
    </svg>
  );
}

function CanvasPicture({ graph, camera, size }: PictureProps) {
  const view = useRef<HTMLCanvasElement>(null);
  const map = useRef<CanvasMap | undefined>(undefined);
  const hovered = useSignal<GraphNode | undefined>(undefined);
  useEffect(() => {
    if (!view.current) return;
    map.current = new CanvasMap(view.current, graph);
    map.current.resize(size, camera);
    return () => map.current?.stop();
  }, [graph, size.width, size.height, theme.value]);
  useEffect(() => map.current?.move(camera), [camera]);
  const nodeAt = (event: MouseEvent) => map.current?.at(camera, event.offsetX, event.offsetY);
  return (
    <>
      <canvas
        ref={view}
        role="application"
        tabIndex={0}
        aria-label={`Picture of ${graph.nodes.length} nodes; arrows move it, plus and minus zoom; the table has the same content`}
        style={{ width: `${size.width}px`, height: `${size.height}px` }}
        onMouseMove={(event) => {
          if (event.buttons === 0) hovered.value = nodeAt(event);
        }}
        onDblClick={(event) => {
          const node = nodeAt(event);
          if (node) go(local(node.href));
        }}
      />
      {hovered.value && (
        <p class="map-hover">
          {hovered.value.name}{" "}
          <span class="muted">
            {hovered.value.kind}, {hovered.value.degree} edges
          </span>
        </p>
      )}
    </>
  );
}
