//! One row, one claim, or the lack of one.

use twining_testcases::each;

use crate::audit::claims::{ClaimSubject, claims_in};
use crate::audit::commands::CommandNeed;
use crate::audit::documents::{DocumentKind, kind_of_document};

/// The claims of a text, each in a word or two.
fn told(text: &str, kind: DocumentKind) -> Vec<String> {
    let short = |subject: ClaimSubject| match subject {
        ClaimSubject::Path { path, line: None } => path,
        ClaimSubject::Path { path, line: Some(line) } => format!("{path} line {line}"),
        ClaimSubject::Name(words) => format!("name {}", words.join(" ")),
        ClaimSubject::Command(CommandNeed::PackageScript { name, .. }) => format!("script {name}"),
        ClaimSubject::Command(CommandNeed::MakeTarget(name)) => format!("target {name}"),
        ClaimSubject::Command(CommandNeed::JustRecipe(name)) => format!("recipe {name}"),
        ClaimSubject::Command(CommandNeed::CargoAlias(name)) => format!("alias {name}"),
        ClaimSubject::Command(CommandNeed::File(path)) => format!("file {path}"),
    };
    claims_in(text, kind).into_iter().map(|claim| short(claim.subject)).collect()
}

#[test]
fn paths_are_claimed_in_backticks_links_imports_and_plain_words() {
    let rows: [(&str, &[&str]); 14] = [
        ("See `src/auth/hash.rs`.", &["src/auth/hash.rs"]),
        ("See `./src/auth/`.", &["src/auth/"]),
        ("Look at `src/a.rs:12-20`", &["src/a.rs line 20"]),
        ("Look at `src/a.rs#L7`", &["src/a.rs line 7"]),
        ("Read [the guide](docs/guide.md#top) first", &["docs/guide.md"]),
        ("Read [the rule](mdc:apps/web/app/(app)/page.tsx)", &["apps/web/app/(app)/page.tsx"]),
        ("@docs/style.md", &["docs/style.md"]),
        ("- src/auth/jwt.ts signs tokens", &["src/auth/jwt.ts"]),
        ("`package.json` has it", &["package.json"]),
        ("`src/a.rs::sign_token` signs", &["src/a.rs", "name sign_token"]),
        ("``src/a`b.rs`` is odd", &[]),
        ("the folder `crates/` has them", &["crates/"]),
        ("| `src/a/one.rs` | first |", &["src/a/one.rs"]),
        ("`@/lib/db.ts` opens it", &["@/lib/db.ts"]),
    ];
    each(rows, |(text, expected)| {
        assert_eq!(told(text, DocumentKind::Instructions), expected, "{text}");
    });
}

#[test]
fn what_only_looks_like_a_path_is_no_claim() {
    each(
        [
            "Put it at `path/to/file.rs`",
            "Name it `src/<name>.rs`",
            "Every `src/**/*.rs` counts",
            "See https://example.com/src/a.rs",
            "See [docs](https://example.com/a.md)",
            "Configured in `~/.claude/settings.json`",
            "`/etc/hosts` and `/api/users`",
            "Built into `dist/index.js`",
            "Set it in `.env.local`",
            "All `.ts` files",
            "`@scope/package` is used",
            "`1/2` and `v1.2.3`",
            "`your-app/src/main.ts`",
            "`src/foo.rs` for instance",
            "`${HOME}/x.sh`",
            "`{a,b}/c.ts`",
            "`...` and `src/...`",
            "[above](#heading)",
        ],
        |text| assert_eq!(told(text, DocumentKind::Instructions), [""; 0], "{text}"),
    );
}

#[test]
fn a_negation_or_the_past_claims_nothing() {
    each(
        [
            "Do not use `src/old.rs`.",
            "Don\u{2019}t touch `src/old.rs`",
            "`src/old.rs` was removed in May.",
            "Use the new one instead of `src/old.rs`",
            "`src/old.rs` no longer exists",
            "~~`src/old.rs`~~",
            "<!-- `src/old.rs` -->",
            "<!--\n`src/old.rs`\n-->",
            "## Changelog\n\n- `src/old.rs` added",
            "## Legacy\n\n### Details\n\nsee `src/old.rs`",
            "## Superseded decisions\n\n`src/old.rs`",
            "---\nglobs: src/old.rs\n---\n",
            "```ts\nimport a from './src/old.ts'\n```",
            "```json\n{ \"a\": \"src/old.json\" }\n```",
        ],
        |text| assert_eq!(told(text, DocumentKind::Instructions), [""; 0], "{text}"),
    );
}

#[test]
fn a_negation_ends_with_its_sentence_and_a_section_with_the_next() {
    let rows: [(&str, &[&str]); 4] = [
        ("Never guess. Read `src/new.rs` first.", &["src/new.rs"]),
        ("Read `src/new.rs`; do not read `src/old.rs`.", &["src/new.rs"]),
        ("## History\n\n`src/old.rs`\n\n## Layout\n\n`src/new.rs`", &["src/new.rs"]),
        ("Avoid e.g. `src/old.rs`. See `src/new.rs`", &["src/new.rs"]),
    ];
    each(rows, |(text, expected)| {
        assert_eq!(told(text, DocumentKind::Instructions), expected, "{text}");
    });
}

#[test]
fn names_are_claimed_where_they_look_like_code() {
    let rows: [(&str, &[&str]); 16] = [
        ("`hash_password` hashes", &["name hash_password"]),
        ("`HashPassword` hashes", &["name HashPassword"]),
        ("`sign()` signs", &["name sign"]),
        ("`Store::open`", &["name open"]),
        ("`TokenStore::open_all`", &["name TokenStore open_all"]),
        ("`Vec<TokenStore>`", &[]),
        ("`TokenStore<T>`", &["name TokenStore"]),
        ("`engine.rowCount`", &["name rowCount"]),
        ("`MAX_BYTES`", &["name MAX_BYTES"]),
        ("`println!`", &[]),
        ("`password`", &[]),
        ("`--no-verify`", &[]),
        ("`MyComponent` and `foo_bar`", &[]),
        ("`example.com`", &[]),
        ("`const x = 1`", &[]),
        ("`fooBar()`", &[]),
    ];
    each(rows, |(text, expected)| {
        assert_eq!(told(text, DocumentKind::Instructions), expected, "{text}");
    });
}

#[test]
fn commands_need_their_scripts_targets_and_files() {
    let rows: [(&str, &[&str]); 22] = [
        ("Run `npm run lint`", &["script lint"]),
        ("Run `npm test`", &["script test"]),
        ("Run `pnpm typecheck`", &["script typecheck"]),
        ("Run `pnpm --filter web build:all`", &["script build:all"]),
        ("Run `yarn workspace web e2e`", &["script e2e"]),
        ("Run `pnpm install`", &[]),
        ("Run `npm install left-pad`", &[]),
        ("Run `pnpm exec tsc`", &[]),
        ("Run `bun run scripts/seed.ts`", &["scripts/seed.ts"]),
        ("Run `make check`", &["target check"]),
        ("Run `make -C web CC=cc all`", &[]),
        ("Run `just deploy prod`", &["recipe deploy"]),
        ("Run `cargo xtask`", &["alias xtask"]),
        ("Run `cargo test -p web`", &[]),
        ("Run `./scripts/setup.sh`", &["scripts/setup.sh"]),
        ("Run `bash tools/gen.sh --all`", &["tools/gen.sh"]),
        ("Run `python -m http.server`", &[]),
        ("Run `npm run <script>`", &[]),
        ("```bash\n$ npm run build && make docs # both\n```", &["script build", "target docs"]),
        ("```sh\nCI=1 pytest tests/test_a.py::test_b\n```", &["tests/test_a.py"]),
        ("```bash\n# make sure\n```", &[]),
        ("```python\nmake(check)\n```", &[]),
    ];
    each(rows, |(text, expected)| {
        assert_eq!(told(text, DocumentKind::Instructions), expected, "{text}");
    });
}

#[test]
fn a_drawn_tree_claims_the_paths_it_draws() {
    let text = "```\nsrc/\n├── auth/\n│   ├── hash.rs   # hashing\n│   └── old.rs    # removed\n└── main.rs\n```";
    let expected = ["src/auth/", "src/auth/hash.rs", "src/main.rs"];
    assert_eq!(told(text, DocumentKind::Instructions), expected);
}

#[test]
fn a_decision_record_claims_what_it_decided_while_it_is_in_force() {
    let record = |status: &str| {
        format!(
            "# Use X\n\n## Status\n\n{status}\n\n## Context\n\n`src/was.rs`\n\n## Decision\n\n`src/is.rs`\n"
        )
    };
    let kind = DocumentKind::DecisionRecord;
    assert_eq!(told(&record("Accepted"), kind), ["src/is.rs"]);
    assert_eq!(told(&record("Superseded by 0007"), kind), [""; 0]);
    assert_eq!(told("Status: Deprecated\n\n`src/is.rs`", kind), [""; 0]);
}

#[test]
fn observations_of_a_memory_server_are_statements() {
    let text = concat!(
        r#"{"type":"entity","name":"auth","observations":["lives in src/auth/jwt.ts","src/old.ts was removed"]}"#,
        "\nnot json\n"
    );
    assert_eq!(told(text, DocumentKind::JsonLines), ["src/auth/jwt.ts"]);
}

#[test]
fn files_for_agents_are_known_by_their_names_and_folders() {
    let rows = [
        ("CLAUDE.md", Some(DocumentKind::Instructions)),
        ("packages/web/AGENTS.md", Some(DocumentKind::Instructions)),
        (".cursor/rules/style.mdc", Some(DocumentKind::Instructions)),
        ("web/.cursor/rules/style.mdc", Some(DocumentKind::Instructions)),
        (".github/copilot-instructions.md", Some(DocumentKind::Instructions)),
        (".claude/skills/pdf/SKILL.md", Some(DocumentKind::Instructions)),
        ("docs/adr/0001-use-x.md", Some(DocumentKind::DecisionRecord)),
        ("docs/adr/README.md", None),
        ("memory.jsonl", Some(DocumentKind::JsonLines)),
        ("node_modules/x/CLAUDE.md", None),
        ("tests/fixtures/AGENTS.md", None),
        ("README.md", None),
        ("src/claude.rs", None),
    ];
    each(rows, |(path, expected)| assert_eq!(kind_of_document(path), expected, "{path}"));
}
