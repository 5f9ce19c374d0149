// A team's repository with husky, records, a remote and a colleague's clone.

import { writeFileSync } from "node:fs";
import { Stage } from "./stage.mjs";

export const LIST = "feature-list.json";

// What husky 9 puts there when it is installed.
const HUSKY = `#!/usr/bin/env sh
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n
[ ! -f "$s" ] && exit 0
[ "\${HUSKY-}" = "0" ] && exit 0
export PATH="node_modules/.bin:$PATH"
sh -e "$s" "$@"
c=$?
[ $c != 0 ] && echo "husky - $n script failed (code $c)"
exit $c
`;

const FILES = {
  ".gitignore": "node_modules/\n*.log\n",
  ".husky/pre-commit": "echo husky: lint-staged\n",
  ".husky/_/.gitignore": "*",
  ".husky/_/h": HUSKY,
  "src/cart.mjs": "export const total = (prices) => prices.reduce((sum, price) => sum + price, 0);\nexport const count = (prices) => prices.length + 1;\n",
  "tests/cart.test.mjs": `import assert from "node:assert/strict";
import { test } from "node:test";
import { count, total } from "../src/cart.mjs";

test("adds prices", () => {
  assert.equal(total([1, 2]), 3);
});

test("counts prices", () => {
  assert.equal(count([1, 2]), 2);
});
`,
  [LIST]: `${JSON.stringify(
    {
      features: [
        { id: "F1", description: "Cart", status: "completed", tested: false, files: ["src/cart.mjs"], tests: ["tests/cart.test.mjs"] },
        { id: "F2", description: "Tax", status: "pending", tested: false, files: ["src/tax.mjs"], tests: ["tests/tax.test.mjs"] },
      ],
    },
    null,
    2,
  )}\n`,
  ".twining/policy.yml": `guards:
  - id: no-force-push
    tools: [Bash]
    when: {command: [git push --force]}
    action: block
    say: history that others have is not rewriten
  - id: no-curl
    tools: [Bash]
    when: {command: [curl]}
    action: warn
    say: downloads are pinned
`,
};

const GIT_CONFIG = `[user]
name = Sam
email = sam@example.com
[init]
defaultBranch = main
[core]
editor = true
`;

/** A stage with a project that is pushed, wired up for one client, whose hooks are recorded. */
export class Shop extends Stage {
  static async of(agent) {
    const shop = new Shop();
    shop.recordHooks();
    shop.writeAtHome(".gitconfig", GIT_CONFIG);
    // Codex starts login shells, and these set the path anew.
    shop.writeAtHome(".profile", `export PATH='${shop.env.PATH}'\n`);
    for (const [name, text] of Object.entries(FILES)) shop.write(name, text);
    for (const name of ["pre-commit", "post-commit", "post-checkout", "post-merge"]) {
      writeFileSync(shop.path(`.husky/_/${name}`), `#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n`, { mode: 0o755 });
    }
    await shop.sh("git init -q && git config core.hooksPath .husky/_");
    await shop.ran("twining", ["init", "--agent", agent, "--yes"]);
    shop.noMoment = await shop.decide("dates", "src/", "Dates are Temporal's", "moment is frozen and weighs 290 kB", ["--constraint", "must_not_use: moment"]);
    shop.useSqlite = await shop.decide("storage", "src/cart.mjs", "Carts live in SQLite", "Ther is no second writer");
    await shop.sh(`git add -A && git commit -qm start && git add -A && (git diff --cached --quiet || git commit -qm records)`);
    await shop.sh("git clone -q --bare . ../origin.git && git remote add origin ../origin.git && git fetch -q && git branch -q -u origin/main");
    await shop.sh("git clone -q ../origin.git ../colleague && git -C ../colleague config user.name Ada");
    return shop;
  }

  /** Runs a script of the shell that must end well. */
  sh(script, options) {
    return this.ran("sh", ["-ec", script], options);
  }

  /** Records a decision; answers with the path of its file. */
  async decide(domain, scope, summary, rationale, more = []) {
    const words = ["--domain", domain, "--scope", scope, "--summary", summary, "--context", "a small shop", "--rationale", rationale];
    return `.twining/decisions/${JSON.parse(await this.ran("twining", ["decide", "--json", ...words, ...more])).id}.json`;
  }

  /** Changes a file as a person does in an editor. */
  edit(name, from, to) {
    const text = this.read(name);
    if (!text.includes(from)) throw new Error(`${name} has no ${from}: ${text}`);
    this.write(name, text.replace(from, to));
  }

  feature(id) {
    return JSON.parse(this.read(LIST)).features.find((feature) => feature.id === id);
  }
}
