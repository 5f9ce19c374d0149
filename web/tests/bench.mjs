// Times of the page in a real browser, as JSON: `TWINING_BIN=… node tests/bench.mjs`.
//
// Run by hand or by `figures ui`, with a release build and nothing else on the machine. What a
// figure means and must be is in the table of the dashboard's reference; nothing is asserted here.

import { execFileSync } from "node:child_process";
import { chromium } from "@playwright/test";
import { entryLines, newId } from "./entries.mjs";
import { Project } from "./project.mjs";
import { contradict } from "./story.mjs";

const ENTRIES = Number(process.env.TWINING_BENCH_ENTRIES ?? 100_000);
const LOADS = 20;
const POSTS = 40;
const [NODES, EDGES] = [5000, 20_000];

const figures = {};
const project = await new Project("bench").init();
await contradict(project);
project.append(".twining/blackboard.jsonl", entryLines(ENTRIES, { before: 60_000 }));
writeGraph(project);
await project.call("ada", "status");
const ui = await project.ui();
const key = await ui.key();

const browser = await chromium.launch({
  executablePath: execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim(),
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});

try {
  await coldLoads();
  await liveTimes();
  await scrolling();
  await map();
  await tabs();
  console.log(JSON.stringify(figures, null, 2));
} finally {
  await browser.close();
  await project.remove();
}

async function newContext() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addInitScript((key) => localStorage.setItem("twining.key", key), key);
  return context;
}

async function coldLoads() {
  const loads = [];
  for (let i = 0; i < LOADS; i++) {
    const context = await newContext();
    const page = await context.newPage();
    await page.addInitScript(() => {
      const seen = (window.seen = {});
      const look = () => {
        if (!seen.interactive && document.querySelector("main h1"))
          seen.interactive = performance.now();
        if (
          !seen.filled &&
          document.querySelector(".item") &&
          !document.querySelector("main .loading")
        )
          seen.filled = performance.now();
        if (!seen.filled) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await page.goto(ui.origin);
    await page.waitForFunction(() => window.seen.filled);
    loads.push(
      await page.evaluate(() => ({
        paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
        ...window.seen,
      })),
    );
    await context.close();
  }
  figures.first_paint_ms_p95 = percentile(
    loads.map((load) => load.paint),
    95,
  );
  figures.interactive_ms_p95 = percentile(
    loads.map((load) => load.interactive),
    95,
  );
  figures.home_filled_ms_p95 = percentile(
    loads.map((load) => load.filled),
    95,
  );
}

async function liveTimes() {
  const context = await newContext();
  const page = await context.newPage();
  await page.goto(`${ui.origin}/stream`);
  await page.waitForSelector(".option .summary");
  await page.waitForFunction(() => document.querySelector(".live")?.textContent === "live");
  await page.evaluate(() => {
    window.shown = {};
    new MutationObserver(() => {
      for (const row of document.querySelectorAll(".option .summary"))
        window.shown[row.textContent] ??= Date.now();
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  const waits = [];
  for (let i = 0; i < POSTS; i++) {
    const summary = `bench post ${i}`;
    const { timestamp } = await project.call("bob", "post", { entry_type: "finding", summary });
    await page.waitForFunction((summary) => window.shown[summary], summary);
    waits.push(
      (await page.evaluate((summary) => window.shown[summary], summary)) - Date.parse(timestamp),
    );
    await page.waitForTimeout(50);
  }
  figures.record_to_dom_ms_p50 = percentile(waits, 50);
  figures.record_to_dom_ms_p95 = percentile(waits, 95);

  const count = () =>
    page.evaluate(() =>
      Number(document.querySelector(".list-panel .count").textContent.replaceAll(",", "")),
    );
  const before = await count();
  const frames = page.evaluate(async (wanted) => {
    let [worst, last] = [0, performance.now()];
    const start = last;
    const counted = () =>
      Number(document.querySelector(".list-panel .count").textContent.replaceAll(",", ""));
    while (counted() < wanted && performance.now() - start < 30_000) {
      await new Promise(requestAnimationFrame);
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
    }
    return { worst, at: Date.now(), counted: counted() };
  }, before + 5000);
  await page.waitForTimeout(200);
  const lines = entryLines(5000);
  const written = Date.now();
  project.append(".twining/blackboard.jsonl", lines);
  const burst = await frames;
  figures.burst_counted = burst.counted - before;
  figures.burst_ms = burst.at - written;
  figures.burst_worst_frame_ms = round(burst.worst);
  await context.close();
}

async function scrolling() {
  const context = await newContext();
  const page = await context.newPage();
  await page.goto(`${ui.origin}/stream`);
  await page.waitForSelector(".option .summary");
  await page.waitForTimeout(500);
  const scroll = await page.evaluate(async () => {
    const box = document.querySelector(".virtual");
    const frames = [];
    let [last, rows] = [performance.now(), 0];
    for (let i = 0; i < 300; i++) {
      box.scrollTop += 400;
      await new Promise(requestAnimationFrame);
      frames.push(performance.now() - last);
      last = performance.now();
      rows = Math.max(rows, box.querySelectorAll(".option").length);
    }
    return { frames, rows };
  });
  figures.scroll_frame_ms_p95 = percentile(scroll.frames, 95);
  figures.scroll_rows_in_dom = scroll.rows;
  figures.jump_to_end_ms = round(
    await page.evaluate(async () => {
      const box = document.querySelector(".virtual");
      const start = performance.now();
      box.scrollTop = box.scrollHeight;
      for (;;) {
        await new Promise(requestAnimationFrame);
        const rows = box.querySelectorAll(".option");
        const last = rows[rows.length - 1];
        if (last.ariaPosInSet === last.ariaSetSize && !box.querySelector(".pending"))
          return performance.now() - start;
      }
    }),
  );
  await context.close();
}

async function map() {
  const context = await newContext();
  const page = await context.newPage();
  const started = Date.now();
  await page.goto(`${ui.origin}/map?all=1`);
  await page.waitForFunction(() => document.querySelector("canvas")?.dataset.crisp, undefined, {
    timeout: 60_000,
  });
  figures.map_shown_ms = Date.now() - started;
  const pan = await page.evaluate(async () => {
    const box = document.querySelector(".map-box");
    const canvas = document.querySelector("canvas");
    const { x, y } = box.getBoundingClientRect();
    const send = (type, dx, dy) =>
      box.dispatchEvent(
        new PointerEvent(type, { clientX: x + dx, clientY: y + dy, buttons: 1, bubbles: true }),
      );
    send("pointerdown", 300, 200);
    const frames = [];
    let last = performance.now();
    for (let i = 0; i < 240; i++) {
      send("pointermove", 300 + 120 * Math.sin(i / 11), 200 + 80 * Math.cos(i / 11));
      await new Promise(requestAnimationFrame);
      frames.push(performance.now() - last);
      last = performance.now();
    }
    const stood = performance.now();
    const before = canvas.dataset.crisp;
    send("pointerup", 0, 0);
    while (canvas.dataset.crisp === before) await new Promise(requestAnimationFrame);
    return { frames, crisp: performance.now() - stood };
  });
  figures.map_pan_fps = round(
    1000 / (pan.frames.reduce((sum, frame) => sum + frame, 0) / pan.frames.length),
  );
  figures.map_crisp_again_ms = round(pan.crisp);
  await context.close();
}

async function tabs() {
  const context = await newContext();
  let streams = 0;
  context.on("request", (request) => {
    if (new URL(request.url()).pathname === "/events") streams++;
  });
  let slowest = 0;
  for (let i = 0; i < 9; i++) {
    const page = await context.newPage();
    const started = Date.now();
    await page.goto(ui.origin);
    await page.waitForSelector(".item");
    if (i > 0) slowest = Math.max(slowest, Date.now() - started);
  }
  figures.eight_more_tabs_slowest_ms = slowest;
  figures.streams_open = streams;
  await context.close();
}

/** A graph of that many entities, written as the files are. */
function writeGraph(project) {
  const at = new Date().toISOString();
  const list = (rows) => `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`;
  const ids = Array.from({ length: NODES }, (_, i) => newId(Date.now(), i));
  project.write(
    ".twining/graph/entities.json",
    list(
      ids.map((id, i) => ({
        id,
        name: `part${i % 70}/thing${i}`,
        type: "module",
        properties: {},
        created_at: at,
        updated_at: at,
      })),
    ),
  );
  project.write(
    ".twining/graph/relations.json",
    list(
      Array.from({ length: EDGES }, (_, i) => ({
        id: newId(Date.now(), NODES + i),
        source: ids[i % NODES],
        target: ids[(i * 31 + 7) % NODES],
        type: "depends_on",
        properties: {},
        created_at: at,
      })),
    ),
  );
}

function percentile(values, percent) {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return round(
    sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN,
  );
}

function round(value) {
  return Math.round(value * 10) / 10;
}
