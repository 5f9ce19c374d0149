// Makes the generated sources: `src/verbs.gen.ts` of what `twining schema` prints, and
// `src/hidden.gen.ts` of the table in `text.rs`. With --check it only compares.
//
// TWINING_BIN names the program, TWINING_SCHEMA a file with what it prints; default
// ../target/debug/twining. Where there is neither, the verbs stay as they are.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const TEXT_RS = "../crates/twining-model/src/text.rs";
const program = process.env.TWINING_BIN ?? "../target/debug/twining";
const isCheck = process.argv.includes("--check");

const printed = process.env.TWINING_SCHEMA
  ? readFileSync(process.env.TWINING_SCHEMA, "utf8")
  : existsSync(program) &&
    execFileSync(program, ["schema"], { encoding: "utf8", maxBuffer: 1 << 26 });
if (printed) keep("src/verbs.gen.ts", verbTypes(JSON.parse(printed)));
else console.log(`generate: no ${program}; src/verbs.gen.ts stays as it is`);
keep("src/hidden.gen.ts", hiddenRanges(readFileSync(TEXT_RS, "utf8")));

function keep(file, text) {
  const current = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (current === text) return;
  if (isCheck) {
    console.error(`generate: ${file} is out of date; run scripts/ui`);
    process.exitCode = 1;
  } else writeFileSync(file, text);
}

/** Input and output of every verb as TypeScript. */
function verbTypes({ verbs }) {
  const rows = verbs.map(
    ({ name, input, output }) =>
      `  ${name}: {\n    input: ${type(input, input, 2)};\n    output: ${type(output, output, 2)};\n  };\n`,
  );
  return `// What every verb takes and answers. Made by \`generate.mjs\` of \`twining schema\`; do not edit.\n\nexport interface Verbs {\n${rows.join("")}}\n`;
}

function type(schema, root, depth) {
  if (schema === true || schema === undefined) return "unknown";
  if (schema.$ref) return type(resolved(schema, root), root, depth);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map((option) => type(option, root, depth)))].join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((one) => type({ ...schema, type: one }, root, depth)).join(" | ");
  }
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array": {
      const inner = type(schema.items, root, depth);
      return /[|]/.test(inner) && !inner.startsWith("{") ? `(${inner})[]` : `${inner}[]`;
    }
    case "object":
      return record(schema, root, depth);
    default:
      return "unknown";
  }
}

/** What a reference leads to, with what stands beside it: a record with a field more. */
function resolved({ $ref, ...beside }, root) {
  const named = $ref
    .split("/")
    .slice(1)
    .reduce((at, key) => at[key], root);
  if (!beside.properties) return named;
  return {
    ...named,
    properties: { ...named.properties, ...beside.properties },
    required: [...(named.required ?? []), ...(beside.required ?? [])],
  };
}

function record(schema, root, depth) {
  const indent = "  ".repeat(depth + 1);
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) =>
      `${indent}${name}${schema.required?.includes(name) ? "" : "?"}: ${type(field, root, depth + 1)};\n`,
  );
  const rest = schema.additionalProperties;
  if (fields.length === 0) {
    return rest && rest !== true
      ? `Record<string, ${type(rest, root, depth)}>`
      : "Record<string, unknown>";
  }
  return `{\n${fields.join("")}${"  ".repeat(depth)}}`;
}

/** Ranges of the characters that are shown as U+XXXX, from `is_unsafe_to_show`. */
function hiddenRanges(rust) {
  const body = /fn is_unsafe_to_show\(c: char\) -> bool \{([^]*?)\n\}/.exec(rust)[1];
  const ranges = [...body.matchAll(/'\\u\{([0-9A-F]+)\}'(?:\.\.='\\u\{([0-9A-F]+)\}')?/g)].map(
    ([, from, to]) => [parseInt(from, 16), parseInt(to ?? from, 16)],
  );
  if (!body.includes("c.is_control() => true") || ranges.length < 10)
    throw new Error(`cannot read ${TEXT_RS}`);
  // Control characters, except newline and tab, which stay.
  ranges.push([0x00, 0x08], [0x0b, 0x1f], [0x7f, 0x9f]);
  ranges.sort((a, b) => a[0] - b[0]);
  const hex = (n) => `0x${n.toString(16).padStart(2, "0")}`;
  const rows = ranges.map(([from, to]) => `  [${hex(from)}, ${hex(to)}],\n`).join("");
  return `// Characters that act instead of being read. Made by \`generate.mjs\` of \`text.rs\`; do not edit.\n\nexport const HIDDEN: readonly (readonly [number, number])[] = [\n${rows}];\n`;
}
