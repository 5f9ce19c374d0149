// The pictures of the README, taken from the real thing: the Now page in Chromium, and `twining top`
// in tmux. Run by `scripts/pictures`.

import { chromium } from "@playwright/test";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { Project, TWINING } from "./project.mjs";
import { tellStory } from "./story.mjs";

const OUT = path.join(import.meta.dirname, "../../docs/pictures");
const COLOURS = ["#3b4252", "#e0646f", "#a3be8c", "#ebcb8b", "#81a1c1", "#b48ead", "#88c0d0", "#e5e9f0"];

const project = await new Project().init();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
try {
  await tellStory(project);
  await now();
  await top();
} finally {
  await browser.close();
  await project.remove();
}

async function now() {
  const ui = await project.ui();
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
  await page.goto(ui.firstLink);
  await page.getByText("Use server sessions in redis").first().waitFor();
  await page.getByText("Since you were here").waitFor();
  await page.waitForLoadState("load");
  await page.waitForTimeout(500);
  await page.screenshot({ path: path.join(OUT, "now.png") });
  await page.close();
}

async function top() {
  const session = `twining-pictures-${process.pid}`;
  const tmux = (...words) => execFileSync("tmux", ["-L", session, ...words], { encoding: "utf8", env: project.env, cwd: project.dir });
  tmux("new-session", "-d", "-x", "100", "-y", "28", `'${TWINING}' top`);
  try {
    let screen = "";
    for (let tries = 0; tries < 100 && !(screen.includes("sessions in redis") && screen.includes("finding")); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      screen = tmux("capture-pane", "-p", "-e");
    }
    const page = await browser.newPage({ viewport: { width: 900, height: 620 }, deviceScaleFactor: 2 });
    await page.setContent(`<body style="margin:0;background:#242933"><pre style="margin:0;padding:20px;width:max-content;font:14px/1.3 'DejaVu Sans Mono',monospace;color:#d8dee9">${html(screen)}</pre></body>`);
    await page.locator("pre").screenshot({ path: path.join(OUT, "top.png") });
    await page.close();
  } finally {
    tmux("kill-server");
  }
}

/** Escape sequences of colour as HTML; what the terminal shows is text. */
function html(screen) {
  let style = {};
  const span = (text) => {
    const rules = [
      style.colour && `color:${style.colour}`,
      style.bold && "font-weight:bold",
      style.dim && "opacity:.65",
      style.reverse && "background:#3b4a63",
      style.underline && "text-decoration:underline",
    ].filter(Boolean);
    const plain = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    return rules.length ? `<span style="${rules.join(";")}">${plain}</span>` : plain;
  };
  return screen
    .split(/\x1b\[([0-9;]*)m/)
    .map((part, at) => {
      if (at % 2 === 0) return span(part);
      const codes = (part || "0").split(";").map(Number);
      if (codes[0] === 38 && codes[1] === 5) {
        style.colour = COLOURS[codes[2] % 8];
        return "";
      }
      for (const code of codes) {
        if (code === 0) style = {};
        else if (code === 1) style.bold = true;
        else if (code === 2) style.dim = true;
        else if (code === 4) style.underline = true;
        else if (code === 7) style.reverse = true;
        else if (code === 22) style.bold = style.dim = false;
        else if (code === 27) style.reverse = false;
        else if (code === 39) style.colour = undefined;
        else if (code >= 30 && code <= 37) style.colour = COLOURS[code - 30];
        else if (code >= 90 && code <= 97) style.colour = COLOURS[code - 90];
      }
      return "";
    })
    .join("");
}
