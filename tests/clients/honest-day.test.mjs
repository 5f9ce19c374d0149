// An honest day of an agent, a colleague and a person in one repository: nothing is held.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agents, refuses, report, shell, write } from "./lib/agents.mjs";
import { LIST, Shop } from "./lib/shop.mjs";

const TAX = "export const tax = (cents) => Math.round(cents * 0.19);\n";
const TAX_TESTS = `import assert from "node:assert/strict";
import { test } from "node:test";
import { tax } from "../src/tax.mjs";

test("takes 19 percent", () => {
  assert.equal(tax(100), 19);
});

test("takes nothing of nothing", () => {
  assert.equal(tax(0), 0);
});
`;

/** A branch with a decision of its own, while a colleague mends, tests and records something on main. */
async function partWays(shop) {
  await shop.sh("git switch -qc tax --track origin/main");
  shop.rate = await shop.decide("tax", "src/tax.mjs", "One rate of tax", "We sell in one country");
  await shop.sh("git add -A && git commit -qm 'Decide on tax' && git switch -q main");
  const clone = join(shop.root, "colleague");
  const list = JSON.parse(readFileSync(join(clone, LIST), "utf8"));
  Object.assign(list.features[0], { status: "tested", tested: true, verified_by: { source: "seen", command: "node --test" } });
  writeFileSync(join(clone, LIST), `${JSON.stringify(list, null, 2)}\n`);
  await shop.sh(
    `twining post finding 'Prices are cents' --scope src/ --agent ada
     sed -i 's/prices.length + 1/prices.length/' src/cart.mjs
     git add -A && git commit -qm 'Mend the count' && git push -q`,
    { cwd: clone },
  );
}

const steps = (shop) => [
  shell("git pull -q && git log -1 --format=pulled:%s"),
  shell("git switch -q tax && git rebase -q && git log -2 --format=rebased:%s"),
  // What `husky` runs each time that packages are installed.
  shell("git config core.hooksPath .husky/_"),
  report({ feature: "F2", role: "coder", outcome: "started" }),
  write("src/tax.mjs", TAX),
  write("tests/tax.test.mjs", TAX_TESTS),
  report({ feature: "F2", role: "coder", outcome: "completed", summary: "tax of a price" }),
  shell("node --test tests/tax.test.mjs 2>&1 | tail -40"),
  report({ feature: "F2", role: "tester", outcome: "passed" }),
  () => {
    // A person mends a typo in a decision, in an editor.
    shop.edit(shop.useSqlite, "Ther is", "There is");
    return shell("git add -A && git commit -qm 'Add tax' && git log -1 --format=made:%s");
  },
  () => {
    // And another, and rewords a guard of the policy, and takes one out.
    shop.edit(shop.noMoment, "weighs 290 kB", "weighs 290 KB");
    shop.edit(".twining/policy.yml", "rewriten", "rewritten");
    shop.edit(".twining/policy.yml", /  - id: no-curl[^]*$/.exec(shop.read(".twining/policy.yml"))[0], "");
    return shell("git status --short");
  },
];

for (const [agent, day] of Object.entries(agents)) {
  describe(`an honest day with ${agent}`, () => {
    let shop;
    let heard;
    let checksBefore;
    before(async () => {
      shop = await Shop.of(agent);
      await partWays(shop);
      checksBefore = shop.hookCalls("pre-commit").length;
      heard = await day(shop, steps(shop));
    });
    after(() => (process.env.TWINING_KEEP ? console.error(`kept: ${shop.root}`) : shop.close()));

    test("no call is refused, and none is asked about", () => {
      const calls = shop.hookCalls("PreToolUse");
      assert.ok(calls.length >= steps(shop).length, `the hooks saw ${calls.length} calls`);
      assert.deepEqual(calls.filter(refuses), []);
    });

    test("the end of the turn is not held", () => {
      const stops = shop.hookCalls("Stop");
      assert.equal(stops.length, 1, "one end, and no second one");
      assert.equal(stops.some(refuses), false, JSON.stringify(stops));
    });

    test("a colleague's records arrive, and the branch is put on top of them", async () => {
      assert.match(heard, /pulled:Mend the count/);
      assert.match(heard, /rebased:Decide on tax\\+nrebased:Mend the count/);
      assert.match(await shop.ran("twining", ["recent"]), /Prices are cents/);
      assert.equal(shop.feature("F1").tested, true, "by a run on another machine");
      assert.match(shop.read(shop.rate), /One rate of tax/);
    });

    test("tests behind a pipe make the feature tested, by a run that was seen", () => {
      const feature = shop.feature("F2");
      assert.equal(feature.tested, true, JSON.stringify(feature));
      assert.equal(feature.verified_by.source, "seen");
    });

    test("the commit is made, through husky and our check", async () => {
      assert.match(heard, /made:Add tax/);
      assert.match(heard, /husky: lint-staged/, "the team's own hook ran");
      const checks = shop.hookCalls("pre-commit").slice(checksBefore);
      assert.deepEqual(checks.map((check) => check.code), [0], "and so did ours");
      const changed = await shop.sh("git show --name-only --format= HEAD");
      for (const path of ["src/tax.mjs", LIST, shop.useSqlite]) assert.ok(changed.includes(path), changed);
    });

    test("what the person wrote stands", () => {
      assert.match(shop.read(shop.useSqlite), /There is no second writer/);
      assert.match(shop.read(shop.noMoment), /290 KB/);
      assert.doesNotMatch(shop.read(".twining/policy.yml"), /no-curl/);
    });
  });
}
