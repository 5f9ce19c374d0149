// Builds the page: `node build.mjs DIST TABLE` writes the files of the page into the
// folder DIST and the Rust table that embeds them into the file TABLE.
//
// Files in DIST keep plain names, so that their history can be read; their addresses
// carry a hash of the content. Must run in `web/`: package.json decides bytes too.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const TYPES = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};
const [dist = "dist", table = "../crates/twining/src/web/assets_table.rs"] = process.argv.slice(2);

const built = await build({
  entryPoints: { app: "src/main.tsx", style: "src/style.css" },
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["chrome123", "firefox128", "safari17.5"],
  minify: true,
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: "out",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  publicPath: "/assets",
  write: false,
  metafile: true,
  logLevel: "warning",
});

const taken = new Map();
const assets = built.outputFiles.map(({ path: out, contents }) => {
  const name = path.basename(out);
  const [, plain, ext] = /^(.+)-[A-Z0-9]{8}(\.\w+)$/.exec(name);
  const nth = (taken.get(plain + ext) ?? 0) + 1;
  taken.set(plain + ext, nth);
  return {
    name,
    file: nth === 1 ? plain + ext : `${plain}-${nth}${ext}`,
    bytes: Buffer.from(contents),
  };
});
for (const [file, bytes] of [
  ["icon.svg", readFileSync("src/icon.svg")],
  ["LICENSES.txt", Buffer.from(licences(built.metafile))],
]) {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 8).toUpperCase();
  const { name, ext } = path.parse(file);
  assets.push({ name: `${name}-${hash}${ext}`, file, bytes });
}
assets.sort((a, b) => (a.file < b.file ? -1 : 1));

const address = (file) => {
  const asset = assets.find((asset) => asset.file === file);
  if (!asset) throw new Error(`nothing is called ${file}`);
  return `/assets/${asset.name}`;
};
const shell = readFileSync("src/index.html", "utf8")
  .replace(
    "PRELOADS",
    preloads(built.metafile)
      .map((href) => `<link rel="modulepreload" href="${href}">`)
      .join("\n"),
  )
  .replace(/\{([\w.]+)\}/g, (_, file) => address(file));

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
for (const asset of assets) writeFileSync(path.join(dist, asset.file), asset.bytes);
writeFileSync(path.join(dist, "index.html"), shell);
const manifest = assets.map((asset) => ({
  url: `/assets/${asset.name}`,
  file: asset.file,
  type: TYPES[path.extname(asset.file)],
}));
writeFileSync(path.join(dist, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
mkdirSync(path.dirname(table), { recursive: true });
writeFileSync(table, rustTable(manifest));

/** Addresses of the chunks that the first script imports. */
function preloads(metafile) {
  const entry = Object.entries(metafile.outputs).find(
    ([, output]) => output.entryPoint === "src/main.tsx",
  );
  return entry[1].imports
    .filter((one) => one.kind === "import-statement")
    .map((one) => `/assets/${path.basename(one.path)}`);
}

/** The licence of every package that something of is in the bundle. */
function licences(metafile) {
  const inputs = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs)
      .filter(([, part]) => part.bytesInOutput > 0)
      .map(([input]) => input),
  );
  const names = new Set(
    inputs.flatMap((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []),
  );
  return [...names]
    .sort()
    .map((name) => {
      const folder = path.join("node_modules", name);
      const { version, license } = JSON.parse(
        readFileSync(path.join(folder, "package.json"), "utf8"),
      );
      const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      if (!file) throw new Error(`${name} has no licence file`);
      return `${name} ${version} (${license})\n\n${readFileSync(path.join(folder, file), "utf8").trim()}\n`;
    })
    .join("\n----\n\n");
}

function rustTable(manifest) {
  const include = (file) => `include_bytes!("../../../../web/dist/${file}")`;
  // As rustfmt would have it: on one line what fits there.
  const rows = manifest.map(({ url, file, type }) => {
    const parts = [`"${url}"`, `"${type}"`, include(file)];
    const line = `    (${parts.join(", ")}),`;
    return line.length <= 100
      ? `${line}\n`
      : `    (\n${parts.map((part) => `        ${part},\n`).join("")}    ),\n`;
  });
  return `//! The files of the page. Made by \`scripts/ui\`; do not edit.

/// The page itself, for every address that is not an asset's.
pub(super) const SHELL: &[u8] = ${include("index.html")};

/// Address, content type and bytes of every other file. An address has a hash of the content.
pub(super) const ASSETS: [(&str, &str, &[u8]); ${manifest.length}] = [
${rows.join("")}];
`;
}
