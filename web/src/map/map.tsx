// Map: what the code is made of and what was decided about it, around something.

import "../shared";
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { useVerb } from "../core/loader";
import { go, local, place, setQuery } from "../core/router";
import { count } from "../core/time";
import type { Graph, GraphNode } from "../core/types";
import { Chips, FilterField, Tabs } from "../ui/controls";
import { Answer, Empty, Fields, PageHead, Panel, RowLink } from "../ui/parts";
import { VirtualList } from "../ui/virtual-list";
import { Picture, SVG_NODES } from "./picture";

const EVERYTHING = 5000;
const ROW_HEIGHT = 34;

export function MapPage() {
  const { query } = place.value;
  const around = query.get("around") ?? "";
  const level = query.get("level") === "folders" ? "folders" : "nodes";
  const isWhole = query.get("all") === "1";
  const depth = Number(query.get("depth") ?? 2) || 2;
  const isReviewed = query.get("reviewed") === "1";
  const graph = useVerb(
    "graph",
    {
      ...(around && { around }),
      depth,
      level,
      limit: isWhole ? EVERYTHING : SVG_NODES,
      ...(isReviewed && { reviewed: true }),
    },
    ["graph", "knowledge", "decision"],
  );
  return (
    <>
      <PageHead title={around ? `Map around ${around}` : "Map"} note={graph.data.value?.note} />
      <div class="filters">
        <FilterField
          name="around"
          label="Around"
          search
          value={around}
          placeholder="an entity, a decision, src/auth/"
          onChange={(value) => setQuery({ around: value })}
        />
        <Chips
          label="Steps"
          single
          options={[
            ["1", "1 step"],
            ["2", "2 steps"],
            ["3", "3 steps"],
          ]}
          chosen={[String(depth)]}
          onChange={([steps]) => setQuery({ depth: steps === "2" ? "" : steps })}
        />
        <Chips
          label="Level"
          single
          options={[["folders", "folders"]]}
          chosen={[level]}
          onChange={([one]) => setQuery({ level: one })}
        />
        <Chips
          label="Which graph"
          single
          options={[["1", "reviewed only"]]}
          chosen={[isReviewed ? "1" : ""]}
          onChange={([one]) => setQuery({ reviewed: one })}
        />
        <Chips
          label="How much"
          single
          options={[["1", "everything"]]}
          chosen={[isWhole ? "1" : ""]}
          onChange={([one]) => setQuery({ all: one })}
        />
      </div>
      <Answer of={graph}>
        {(data) =>
          data.nodes.length === 0 ? (
            <Empty command="twining add-entity auth module">
              Nothing is on the map here. Entities, relations and decisions appear once agents
              record them.
            </Empty>
          ) : (
            <Shown graph={data} />
          )
        }
      </Answer>
    </>
  );
}

function Shown({ graph }: { graph: Graph }) {
  const how = place.value.query.get("as") ?? "picture";
  const words = `${count(graph.nodes.length, "node")} of ${graph.total_nodes.toLocaleString("en")}, ${count(graph.edges.length, "edge")} of ${graph.total_edges.toLocaleString("en")}`;
  return (
    <Panel
      title={how === "table" ? "Table" : "Picture"}
      count={words}
      class="map-panel"
      side={
        <Tabs
          label="Shown as"
          options={[
            ["picture", "Picture"],
            ["table", "Table"],
          ]}
          chosen={how}
          onChange={(value) => setQuery({ as: value === "table" ? "table" : "" })}
        />
      }
    >
      {how === "table" ? <GraphTable graph={graph} /> : <Picture graph={graph} />}
      {how !== "table" && <Legend graph={graph} />}
    </Panel>
  );
}

function Legend({ graph }: { graph: Graph }) {
  const kinds = [...new Set(graph.nodes.map((node) => node.kind))].sort();
  return (
    <ul class="legend" aria-label="Kinds">
      {kinds.map((kind, i) => (
        <li key={kind}>
          <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
            <circle class={`kind-${(i % 6) + 1}`} cx="6" cy="6" r="5" />
          </svg>
          {kind}{" "}
          <span class="muted">{graph.nodes.filter((node) => node.kind === kind).length}</span>
        </li>
      ))}
    </ul>
  );
}

function useNeighbours(graph: Graph): Map<string, string[]> {
  return useMemo(() => {
    const names = new Map(graph.nodes.map((node) => [node.id, node.name]));
    const found = new Map<string, string[]>();
    const add = (id: string, text: string) => found.set(id, [...(found.get(id) ?? []), text]);
    for (const edge of graph.edges) {
      add(edge.from, `${edge.kind} ${names.get(edge.to) ?? edge.to}`);
      add(edge.to, `${names.get(edge.from) ?? edge.from} ${edge.kind} it`);
    }
    return found;
  }, [graph]);
}

/** The same content as the picture. */
function GraphTable({ graph }: { graph: Graph }) {
  const neighbours = useNeighbours(graph);
  const nodes = useMemo(
    () => [...graph.nodes].sort((a, b) => b.degree - a.degree || (a.name < b.name ? -1 : 1)),
    [graph],
  );
  const active = useSignal(-1);
  if (nodes.length > SVG_NODES) {
    return (
      <div class="list-box tall">
        <VirtualList
          name="nodes"
          label="Nodes"
          total={nodes.length}
          rowHeight={ROW_HEIGHT}
          active={active}
          onOpen={(index) => nodes[index] && go(local(nodes[index].href))}
          row={(index) => (
            <NodeLine
              node={nodes[index]}
              relations={neighbours.get(nodes[index]?.id ?? "") ?? []}
            />
          )}
        />
      </div>
    );
  }
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Nodes and their relations">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col">Relations</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.id}>
              <th scope="row">
                <a href={local(node.href)} data-row data-key={local(node.href)}>
                  {node.name}
                </a>
              </th>
              <td>{node.kind}</td>
              <td>{(neighbours.get(node.id) ?? []).join("; ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NodeLine({ node, relations }: { node: GraphNode | undefined; relations: string[] }) {
  if (!node) return null;
  return (
    <div class="node-line">
      <b>{node.name}</b> <span class="muted">{node.kind}</span>{" "}
      <span class="push muted">
        {relations.slice(0, 3).join("; ")}
        {relations.length > 3 ? ` and ${relations.length - 3} more` : ""}
      </span>
    </div>
  );
}

/** One entity or node: what it is, and what it is connected with. */
export function NodePage({ id: name }: { id: string }) {
  const graph = useVerb("graph", { around: name, depth: 1, limit: SVG_NODES }, [
    "graph",
    "knowledge",
    "decision",
  ]);
  const entities = useVerb("graph_query", { query: name, limit: 50 }, ["graph"]);
  const node = graph.data.value?.nodes.find((one) => one.name === name || one.id === name);
  const entity = entities.data.value?.entities.find((one) => one.name === name || one.id === name);
  const properties = Object.entries(entity?.properties ?? {}).map(
    ([key, value]): [string, string] => [key, String(value)],
  );
  return (
    <>
      <PageHead
        trail={[["Map", "/map"]]}
        title={name}
        badge={node && <span class="tag">{node.kind}</span>}
        note={node?.detail}
      >
        <a class="button" href={`/map?around=${encodeURIComponent(name)}`}>
          Show on the map
        </a>
      </PageHead>
      <Answer of={graph}>
        {(data) => (
          <div class="columns">
            <Panel title="Around it" count={data.nodes.length - 1} class="map-panel small">
              <Picture graph={data} />
            </Panel>
            <div class="stack">
              {properties.length > 0 && (
                <Panel title="Properties">
                  <div class="pad">
                    <Fields rows={properties} />
                  </div>
                </Panel>
              )}
              <Panel title="Connected" count={data.edges.length}>
                <ul class="rows">
                  {data.nodes
                    .filter((one) => one !== node)
                    .map((one) => (
                      <RowLink
                        key={one.id}
                        href={local(one.href)}
                        side={<span class="muted">{one.kind}</span>}
                        below={data.edges
                          .filter((edge) => edge.from === one.id || edge.to === one.id)
                          .map((edge) => edge.kind)
                          .join(", ")}
                      >
                        {one.name}
                      </RowLink>
                    ))}
                </ul>
              </Panel>
            </div>
          </div>
        )}
      </Answer>
    </>
  );
}
