// Prints the size of the page, compressed, and fails where it is past its limits.

import { readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

const KB = 1000;
const LIMITS = { first: 40 * KB, all: 90 * KB, largest: 40 * KB };

const [dist = "dist"] = process.argv.slice(2);
const shell = readFileSync(path.join(dist, "index.html"), "utf8");
const files = JSON.parse(readFileSync(path.join(dist, "manifest.json"), "utf8"))
  .filter(({ file }) => /\.(js|css)$/.test(file))
  .map(({ url, file }) => ({
    file,
    first: shell.includes(url),
    bytes: gzipSync(readFileSync(path.join(dist, file)), { level: 9 }).length,
  }));
const sum = (list) => list.reduce((total, one) => total + one.bytes, 0);
const sizes = {
  first: sum(files.filter((one) => one.first)),
  all: sum(files),
  largest: Math.max(...files.map((one) => one.bytes)),
};
for (const { file, first, bytes } of files)
  console.log(`${file.padEnd(16)} ${bytes}${first ? "  first screen" : ""}`);
for (const [name, bytes] of Object.entries(sizes)) {
  console.log(`${name.padEnd(16)} ${bytes} of ${LIMITS[name]}`);
  if (bytes > LIMITS[name]) process.exitCode = 1;
}
