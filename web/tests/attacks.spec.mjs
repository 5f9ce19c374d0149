// What another page in the same browser can try. All of it is refused, and nothing changes.

import http from "node:http";
import { expect, test } from "./fixtures.mjs";

/** A page of somebody else, with this body; and what it told its own server. */
async function attacker(html) {
  const told = [];
  const server = http.createServer((request, response) => {
    if (request.url.startsWith("/told")) told.push(decodeURIComponent(request.url.slice(6)));
    response.writeHead(200, { "content-type": "text/html" });
    response.end(html);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    told,
    port: server.address().port,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}

const TELL = `<script>
  const tell = (text) => fetch("/told?" + encodeURIComponent(text));
  const attempt = (name, work) => Promise.resolve().then(work).then((text) => tell(name + ": " + text), (error) => tell(name + ": refused"));
</script>`;

/** Lets a page of somebody else try something, with a person's own key in the browser. */
async function attack({ browser, project }, host, html) {
  await project.call("ada", "post", { entry_type: "finding", summary: "a secret of the project" });
  const ui = await project.ui();
  const key = await ui.key();
  const page =
    TELL + html.replaceAll("ORIGIN", ui.origin).replaceAll("PORT", ui.port).replaceAll("KEY", key);
  const site = await attacker(page);
  const context = await browser.newContext();
  const own = await context.newPage();
  await own.addInitScript((key) => localStorage.setItem("twining.key", key), key);
  await own.goto(ui.origin);
  await expect(own.locator("h1")).toHaveText("Now");
  const visitor = await context.newPage();
  await visitor.goto(`http://${host}:${site.port}/`);
  return {
    ui,
    site,
    context,
    visitor,
    own,
    end: async () => {
      await context.close();
      await site.stop();
    },
  };
}

async function nothingChanged(project) {
  const { entries } = await project.call("ada", "recent", { n: 10 });
  expect(entries.map((entry) => entry.summary)).toEqual(["a secret of the project"]);
}

const POST = `{ method: "POST", body: JSON.stringify({ entry_type: "finding", summary: "planted" })`;

for (const host of ["127.0.0.1", "localhost", "evil.test"]) {
  test(`another origin (${host}) can neither read nor write`, async ({ browser, project }) => {
    const tried = await attack(
      { browser, project },
      host,
      `<script>
      attempt("read", () => fetch("ORIGIN/api", { headers: { authorization: "Bearer KEY" } }).then((r) => r.text()));
      attempt("simple read", () => fetch("ORIGIN/api").then((r) => r.text()));
      attempt("shell", () => fetch("ORIGIN/").then((r) => r.text()));
      attempt("write", () => fetch("ORIGIN/api/post", ${POST}, headers: { authorization: "Bearer KEY", "content-type": "application/json", "twining-user": "eve" } }).then((r) => r.text()));
      attempt("simple write", () => fetch("ORIGIN/api/post", ${POST}, mode: "no-cors" }).then((r) => "type " + r.type + " " + r.status));
      attempt("key", () => fetch("ORIGIN/key", { method: "POST", mode: "no-cors", body: '{"code":"x"}' }).then((r) => "type " + r.type + " " + r.status));
      attempt("events", () => new Promise((yes, no) => { const s = new EventSource("ORIGIN/events"); s.onmessage = (e) => yes(e.data); s.onerror = no; }));
    </script>`,
    );
    await expect.poll(() => tried.site.told.length).toBe(7);
    for (const told of tried.site.told) expect(told).toMatch(/refused$|type opaque 0$/);
    await nothingChanged(project);
    await tried.end();
  });
}

test("a name that is bound to the loopback address is not served", async ({ browser, project }) => {
  const tried = await attack({ browser, project }, "evil.test", "");
  const answer = await tried.visitor.goto(`http://evil.test:${tried.ui.port}/`);
  expect(answer.status()).toBe(421);
  expect(await tried.visitor.content()).not.toContain("/assets/");
  const api = await tried.visitor
    .evaluate(
      async (key) => (await fetch("/api", { headers: { authorization: `Bearer ${key}` } })).status,
      await tried.ui.key(),
    )
    .catch(() => "refused");
  expect(api === 421 || api === "refused").toBe(true);
  await nothingChanged(project);
  await tried.end();
});

test("a frame without an origin is refused", async ({ browser, project }) => {
  const tried = await attack(
    { browser, project },
    "127.0.0.1",
    `<iframe sandbox="allow-scripts" srcdoc='<script>
    fetch("ORIGIN/api/post", { method: "POST", mode: "no-cors", body: "{}" }).then((r) => parent.postMessage("type " + r.type + " " + r.status, "*"), () => parent.postMessage("refused", "*"));
  </script>'></iframe><script>addEventListener("message", (event) => tell("null: " + event.data));</script>`,
  );
  await expect.poll(() => tried.site.told.length).toBe(1);
  expect(tried.site.told[0]).toMatch(/refused$|type opaque 0$/);
  await nothingChanged(project);
  await tried.end();
});

test("a form that posts is refused", async ({ browser, project }) => {
  const tried = await attack(
    { browser, project },
    "127.0.0.1",
    `<form method="post" enctype="text/plain" action="ORIGIN/api/post"><input name='{"entry_type":"finding","summary":"planted","x":"' value='"}'></form><script>document.forms[0].submit()</script>`,
  );
  await tried.visitor.waitForURL(/api\/post/);
  expect(await tried.visitor.content()).not.toContain("planted");
  await nothingChanged(project);
  await tried.end();
});

test("answers and assets cannot be included as scripts", async ({ browser, project }) => {
  const tried = await attack({ browser, project }, "127.0.0.1", "");
  const bundle = await (await fetch(`${tried.ui.origin}/`)).text();
  const app = /src="(\/assets\/[^"]+)"/.exec(bundle)[1];
  for (const path of ["/api", app]) {
    const loaded = await tried.visitor.evaluate(
      (src) =>
        new Promise((resolve) => {
          const script = document.createElement("script");
          script.onload = () => resolve(true);
          script.onerror = () => resolve(false);
          script.src = src;
          document.head.append(script);
        }),
      tried.ui.origin + path,
    );
    expect(loaded, path).toBe(false);
  }
  await tried.end();
});

test("the page cannot be framed", async ({ browser, project }) => {
  const tried = await attack({ browser, project }, "127.0.0.1", `<iframe src="ORIGIN/"></iframe>`);
  await expect.poll(() => tried.visitor.frames().length).toBe(2);
  await tried.visitor.waitForTimeout(500);
  const text = await tried.visitor
    .frames()[1]
    .evaluate(() => document.body?.innerText ?? "")
    .catch(() => "");
  expect(text).not.toContain("twining");
  await tried.end();
});

test("who opens the page has no hold on it, and it none on its opener", async ({
  browser,
  project,
}) => {
  const tried = await attack(
    { browser, project },
    "127.0.0.1",
    `<button onclick="window.w = window.open('ORIGIN/')">open</button>`,
  );
  const [opened] = await Promise.all([
    tried.context.waitForEvent("page"),
    tried.visitor.locator("button").click(),
  ]);
  await opened.waitForLoadState();
  expect(await opened.evaluate(() => window.opener)).toBe(null);
  await expect.poll(() => tried.visitor.evaluate(() => window.w.closed)).toBe(true);
  await tried.end();
});
