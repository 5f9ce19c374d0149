// Which address shows which page, and the command line that shows the same.

import type { FunctionComponent } from "preact";
import { quoted } from "../acts/act";
import { place, type Place } from "../core/router";
import { later } from "../ui/later";
import { PageHead } from "../ui/parts";
import { Now } from "./now";

const lists = () => import("./lists");
const others = () => import("./later");
const map = () => import("../map/map");

type Named = FunctionComponent<{ id: string }>;

const RECORDS: Record<string, Named> = {
  d: later(lists, "DecisionPage"),
  e: later(lists, "EntryPage"),
  f: later(others, "FeaturePage"),
  g: later(others, "GuardPage"),
  t: later(others, "TracePage"),
  a: later(lists, "AgentPage"),
  n: later(map, "NodePage"),
};

const FIXED: Record<string, FunctionComponent> = {
  "/": Now,
  "/stream": later(lists, "Stream"),
  "/decisions": later(lists, "Decisions"),
  "/features": later(others, "Features"),
  "/guards": later(others, "Guards"),
  "/map": later(map, "MapPage"),
  "/preview": later(others, "Preview"),
  "/health": later(others, "Health"),
  "/changes": later(others, "Changes"),
};

export function Page() {
  const { path } = place.value;
  const Fixed = FIXED[path];
  if (Fixed) return <Fixed key={path} />;
  const [, letter = "", rest = ""] = /^\/([a-z])\/(.+)$/.exec(path) ?? [];
  const Record = RECORDS[letter];
  if (Record) return <Record key={path} id={decoded(rest)} />;
  return (
    <PageHead
      title="There is no such page"
      note="The address may be cut. Ctrl K finds records by words or id."
    />
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const FLAGS: Record<string, string> = {
  type: "--type",
  scope: "--scope",
  since: "--since",
  agent: "--of",
  status: "--status",
  domain: "--domain",
  author: "--author",
  base: "--base",
};

/** The command line that shows the same as an address. */
export function commandOf({ path, query }: Place): string {
  const flags = [...query]
    .filter(([name, value]) => FLAGS[name] && value)
    .map(([name, value]) => ` ${FLAGS[name]} ${quoted(value)}`)
    .join("");
  const words = query.get("q") ?? "";
  const [, letter = "", rest = ""] = /^\/([a-z])\/(.+)$/.exec(path) ?? [];
  const id = quoted(decoded(rest));
  switch (letter || path) {
    case "/":
      return query.has("settled") ? "twining waiting --settled" : "twining waiting";
    case "/stream":
      return words ? `twining query ${quoted(words)}${flags}` : `twining recent${flags}`;
    case "/decisions":
      return words
        ? `twining search-decisions ${quoted(words)}${flags}`
        : `twining decisions${flags}`;
    case "/features":
      return `twining features${flags}`;
    case "/guards":
      return "twining guards";
    case "/map":
      return `twining graph ${quoted(query.get("around") ?? "")}`.trim();
    case "/preview":
      return `twining assemble ${quoted(query.get("task") ?? "")} ${quoted(query.get("scope") ?? "project")}`;
    case "/health":
      return "twining doctor";
    case "/changes":
      return `twining what-changed${flags}`;
    case "d":
    case "e":
      return `twining read --id ${id}`;
    case "f":
      return `twining features list ${id}`;
    case "g":
      return `twining guard list ${id}`;
    case "t":
      return `twining query-traces`;
    case "a":
      return `twining recent --of ${id}`;
    case "n":
      return `twining graph ${id}`;
    default:
      return "twining";
  }
}
