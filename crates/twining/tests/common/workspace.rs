//! A team's repository with Twining installed: code in three languages, records, a
//! feature list, a claim of another agent, a remote and a colleague's clone.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{PROGRAM, Ran};

/// The feature list of the workspace.
pub(crate) const LIST: &str = ".claude/progress/feature-list.json";
/// The decision that rules `moment` out in `src/`.
pub(crate) const NO_MOMENT: &str = ".twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json";
/// A decision without a clause.
pub(crate) const USE_SQLITE: &str = ".twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json";

/// Files of the workspace before Twining is installed.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# Shop\n\nA small shop.\n"),
    (".gitignore", "node_modules/\ndist/\nout/\n*.log\n.env*\n__pycache__/\n.coverage\n"),
    (".dockerignore", "node_modules\n.git\n"),
    (
        "package.json",
        "{\n  \"name\": \"shop\",\n  \"scripts\": {\"test\": \"vitest run\", \"prepare\": \"husky\", \"lint\": \"eslint .\"}\n}\n",
    ),
    (
        "pyproject.toml",
        "[project]\nname = \"shop\"\nversion = \"0.1.0\"\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
    ),
    ("Makefile", "test:\n\tpytest -q\n\nlint:\n\truff check .\n"),
    ("Dockerfile", "FROM python:3.13-slim\nWORKDIR /app\nCOPY . .\n"),
    (
        ".github/workflows/ci.yml",
        "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make test\n",
    ),
    (".husky/pre-commit", "npx lint-staged\n"),
    ("scripts/test.sh", "#!/bin/sh\nexec pytest -q \"$@\"\n"),
    ("src/cart.py", "def total(prices):\n    return sum(prices)\n"),
    ("src/auth/session.py", "SESSIONS = {}\n\n\ndef login(name):\n    SESSIONS[name] = True\n"),
    ("src/payments/charge.py", "def charge(amount):\n    return amount\n"),
    (
        "src/legacy/dates.ts",
        "import moment from 'moment'\n\nexport function today() {\n  return moment().format('YYYY-MM-DD')\n}\n\nexport function yesterday() {\n  return moment().subtract(1, 'day').format('YYYY-MM-DD')\n}\n",
    ),
    ("src/format.ts", "export const price = (cents: number) => (cents / 100).toFixed(2)\n"),
    (
        "tests/test_cart.py",
        "from src.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_empty():\n    assert total([]) == 0\n",
    ),
    (
        "tests/format.test.ts",
        "import { price } from '../src/format'\n\ntest('price', () => {\n  expect(price(1050)).toBe('10.50')\n})\n",
    ),
    ("tests/golden/invoice.txt", "Invoice 17\nTotal 10.50\n"),
    ("migrations/0001_init.sql", "create table orders (id integer primary key);\n"),
    (
        LIST,
        "{\n  \"features\": [\n    {\"id\": \"F1\", \"description\": \"Cart total\", \"status\": \"completed\", \"tested\": false, \"files\": [\"src/cart.py\"], \"tests\": [\"tests/test_cart.py\"]},\n    {\"id\": \"F2\", \"description\": \"Log in\", \"status\": \"pending\", \"tested\": false, \"files\": [\"src/auth/session.py\"]}\n  ]\n}\n",
    ),
    (
        ".twining/blackboard.jsonl",
        "{\"id\":\"01K9Z7Y0C4V9T2M6D8FQ5X1BHJ\",\"timestamp\":\"2026-11-10T09:00:00.000Z\",\"agent_id\":\"main\",\"entry_type\":\"finding\",\"tags\":[],\"scope\":\"src/cart.py\",\"summary\":\"Totals are rounded twice\",\"detail\":\"\"}\n{\"id\":\"01K9Z7Z5E8W3P7N0R2GS6Y4CKM\",\"timestamp\":\"2026-11-10T09:05:00.000Z\",\"agent_id\":\"main\",\"entry_type\":\"finding\",\"tags\":[],\"scope\":\"project\",\"summary\":\"Grüße aus dem Labor, bitte löschen\",\"detail\":\"\"}\n",
    ),
    (
        NO_MOMENT,
        "{\n  \"id\": \"01K9Z7XW3N5R8QF2T6V4B1C0DM\",\n  \"timestamp\": \"2026-11-10T08:00:00.000Z\",\n  \"agent_id\": \"ada\",\n  \"domain\": \"dates\",\n  \"scope\": \"src/\",\n  \"summary\": \"Dates are Temporal's, für alle\",\n  \"context\": \"Two libraries for dates\",\n  \"rationale\": \"moment is frozen and weighs 290 kB; use Temporal\",\n  \"constraints\": [\"must_not_use: moment\"],\n  \"alternatives\": [],\n  \"depends_on\": [],\n  \"confidence\": \"high\",\n  \"status\": \"active\",\n  \"reversible\": true,\n  \"affected_files\": [],\n  \"affected_symbols\": [],\n  \"commit_hashes\": []\n}\n",
    ),
    (
        USE_SQLITE,
        "{\n  \"id\": \"01K9Z81A5PHJ0E7YKB3S9GQ2RN\",\n  \"timestamp\": \"2026-11-10T08:30:00.000Z\",\n  \"agent_id\": \"ada\",\n  \"domain\": \"storage\",\n  \"scope\": \"src/cart.py\",\n  \"summary\": \"Carts live in SQLite\",\n  \"context\": \"One machine\",\n  \"rationale\": \"Ther is no second writer\",\n  \"constraints\": [],\n  \"alternatives\": [],\n  \"depends_on\": [],\n  \"confidence\": \"medium\",\n  \"status\": \"active\",\n  \"reversible\": true,\n  \"affected_files\": [],\n  \"affected_symbols\": [],\n  \"commit_hashes\": []\n}\n",
    ),
    (
        ".twining/policy.yml",
        "guards:\n  - id: no-force-push\n    tools: [Bash]\n    when: {command: [git push --force, git push -f]}\n    action: block\n    say: history that others have is not rewritten\n    next_step: git push --force-with-lease\n",
    ),
];

/// Who types a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// Works in `shop/`, the checkout whose hooks are under test.
    Here,
    /// Works in `colleague/`, a clone without hooks.
    Colleague,
}

/// Folders beside each other: `shop/`, and where there is a team `origin.git/` and `colleague/`.
pub(crate) struct Workspace {
    root: PathBuf,
    /// Removes the folders at the end, where they are this process's own.
    _removal: Option<tempfile::TempDir>,
}

impl Workspace {
    /// A repository with one commit, with Twining installed for Claude Code.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let root = fs::canonicalize(folder.path()).expect("is there");
        Self { root, _removal: Some(folder) }.install()
    }

    fn install(self) -> Self {
        let workspace = self;
        for folder in ["shop", "home", "bin"] {
            fs::create_dir(workspace.path(folder)).expect("makes a folder");
        }
        symlink(PROGRAM, workspace.path("bin/twining")).expect("links");
        let settings = "[init]\ndefaultBranch = main\n[pull]\nrebase = false\n[advice]\ndetachedHead = false\n[protocol \"file\"]\nallow = always\n[commit]\ngpgsign = false\n[core]\neditor = true\n";
        fs::write(workspace.path("home/.gitconfig"), settings).expect("writes");
        for (name, text) in FILES {
            workspace.write(name, text);
        }
        for program in [".husky/pre-commit", "scripts/test.sh"] {
            fs::set_permissions(workspace.file(program), fs::Permissions::from_mode(0o755))
                .expect("may be started");
        }
        workspace.shell("git init -q && twining init --agent claude >/dev/null && git add -A && git commit -q -m start");
        // A commit is linked to its decisions afterwards, in the records.
        workspace.shell("git add -A && git commit -q --allow-empty -m 'link the first commit'");
        workspace
    }

    /// The same, with a claim of alice on `src/payments/`.
    pub(crate) fn claimed() -> Self {
        Self::new().with_claim()
    }

    fn with_claim(self) -> Self {
        self.claim("src/payments/", "alice", "s-alice");
        self.shell("git add -A && (git diff --cached --quiet || git commit -q -m 'a claim')");
        self
    }

    /// The same for tests that only ask: nextest starts a process for each test, and these
    /// share one workspace for the whole run.
    pub(crate) fn claimed_once() -> Self {
        let Ok(run) = std::env::var("NEXTEST_RUN_ID") else { return Self::claimed() };
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("workspaces");
        fs::create_dir_all(&shared).expect("makes a folder");
        let lock = fs::File::create(shared.join("lock")).expect("makes a lock");
        lock.lock().expect("locks");
        let workspace = Self { root: shared.join(run), _removal: None };
        if workspace.path("ready").exists() {
            return workspace;
        }
        for old in fs::read_dir(&shared).expect("lists").flatten().filter(is_an_hour_old) {
            let _ = fs::remove_dir_all(old.path());
        }
        fs::create_dir_all(&workspace.root).expect("makes a folder");
        let workspace = workspace.install().with_claim();
        fs::write(workspace.path("ready"), "").expect("writes");
        workspace
    }

    /// The same, with a remote and a colleague's clone of it.
    pub(crate) fn with_team() -> Self {
        let workspace = Self::new();
        workspace.shell(
            "git clone -q --bare . ../origin.git && git remote add origin ../origin.git && git fetch -q && git branch -q -u origin/main",
        );
        workspace.shell("git clone -q ../origin.git ../colleague");
        workspace
    }

    /// A path beside the repository.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A path in the repository.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path("shop").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.file(name);
        fs::create_dir_all(file.parent().expect("has a folder")).expect("makes a folder");
        fs::write(file, text).expect("writes");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        self.write(name, &(self.read(name) + text));
    }

    pub(crate) fn replace(&self, name: &str, from: &str, to: &str) {
        let before = self.read(name);
        assert!(before.contains(from), "{name} has {from:?}: {before}");
        self.write(name, &before.replacen(from, to, 1));
    }

    pub(crate) fn claim(&self, path: &str, agent: &str, session: &str) {
        let mut claim = self.command(
            PROGRAM,
            &["claim", path, "--reason", "rewriting it", "--agent", agent, "--json"],
        );
        let made = Ran::of(claim.env("CLAUDE_CODE_SESSION_ID", session).output().expect("starts"));
        assert_eq!(made.code, 0, "{made:?}");
    }

    /// A program in the repository, with nothing inherited but a path.
    pub(crate) fn command(&self, program: &str, words: &[&str]) -> Command {
        self.command_in(&self.path("shop"), program, words)
    }

    fn command_in(&self, folder: &Path, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(folder).env_clear().stdin(Stdio::null());
        command.env("HOME", self.path("home")).env("XDG_CONFIG_HOME", self.path("home/.config"));
        command.env("XDG_CACHE_HOME", self.path("home/.cache"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LANG", "C.UTF-8");
        let name = if folder.ends_with("colleague") { "Ada" } else { "Sam" };
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), name);
            command
                .env(format!("GIT_{role}_EMAIL"), format!("{}@example.com", name.to_lowercase()));
        }
        command
    }

    /// Runs a script that must end well.
    pub(crate) fn shell(&self, script: &str) -> String {
        self.shell_of(Actor::Here, script)
    }

    pub(crate) fn shell_of(&self, actor: Actor, script: &str) -> String {
        let ran = self.try_shell(actor, script);
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        ran.stdout
    }

    pub(crate) fn try_shell(&self, actor: Actor, script: &str) -> Ran {
        let folder = self.path(if actor == Actor::Here { "shop" } else { "colleague" });
        Ran::of(self.command_in(&folder, "sh", &["-ec", script]).output().expect("a shell"))
    }

    pub(crate) fn twining(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(PROGRAM, words).output().expect("the program starts"))
    }

    /// Hands an event of Claude Code to the hook; gives its answer, `null` where it says nothing.
    pub(crate) fn hook(&self, event: &str, fields: Value) -> Value {
        let ran = self.run_hook(event, fields);
        assert_eq!(ran.code, 0, "{event}: {ran:?}");
        if ran.stdout.trim().is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&ran.stdout).expect("answers in JSON")
        }
    }

    pub(crate) fn run_hook(&self, event: &str, fields: Value) -> Ran {
        let mut payload = json!({
            "session_id": "s-1",
            "transcript_path": self.path("home/.claude/projects/shop/s-1.jsonl"),
            "cwd": self.path("shop"),
            "permission_mode": "acceptEdits",
            "hook_event_name": event,
        });
        let Value::Object(fields) = fields else { panic!("{event}: fields, not {fields}") };
        for (name, value) in fields {
            payload[name] = value;
        }
        let mut command = self.command(PROGRAM, &["hook", event]);
        command
            .env("CLAUDE_PROJECT_DIR", self.path("shop"))
            .env("CLAUDE_CODE_SESSION_ID", "s-1")
            .env("CLAUDECODE", "1");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        // A hook that refuses before it has read everything closes the pipe.
        let _ = child.stdin.take().expect("a pipe").write_all(payload.to_string().as_bytes());
        Ran::of(child.wait_with_output().expect("ends"))
    }

    pub(crate) fn begin_session(&self) -> String {
        let answer = self.hook("SessionStart", json!({"source": "startup"}));
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// What the guards say to a tool call.
    pub(crate) fn before_call(&self, tool: &str, input: &Value) -> Verdict {
        let ran = self.run_hook(
            "PreToolUse",
            json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_01"}),
        );
        Verdict::of(&ran)
    }

    /// An agent's command line from the question to what it printed; the note it gets afterwards.
    pub(crate) fn agent_runs(&self, line: &str) -> String {
        let verdict = self.before_call("Bash", &json!({"command": line}));
        assert!(verdict.is_allowed(), "{line}: {verdict:?}");
        let ran = self.try_shell(Actor::Here, line);
        self.after_command(line, &ran)
    }

    /// Reports a command run to the hook, as the host does.
    pub(crate) fn after_command(&self, line: &str, ran: &Ran) -> String {
        let input = json!({"command": line});
        let answer = if ran.code == 0 {
            let response =
                json!({"stdout": ran.stdout, "stderr": ran.stderr, "interrupted": false});
            self.hook(
                "PostToolUse",
                json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_01", "tool_response": response}),
            )
        } else {
            let error = format!("Exit code {}\n{}{}", ran.code, ran.stdout, ran.stderr);
            self.hook("PostToolUseFailure", json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_01", "error": error}))
        };
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// A run of tests as the hook sees it, with this output; nothing is really run.
    pub(crate) fn test_run(&self, line: &str, code: i32, output: &str) -> String {
        let verdict = self.before_call("Bash", &json!({"command": line}));
        assert!(verdict.is_allowed(), "{line}: {verdict:?}");
        self.after_command(line, &Ran { code, stdout: output.to_owned(), stderr: String::new() })
    }

    pub(crate) fn stop(&self) -> Value {
        self.hook("Stop", json!({"stop_hook_active": false, "last_assistant_message": "Done."}))
    }

    /// The feature of this id as the list has it.
    pub(crate) fn feature(&self, id: &str) -> Value {
        let list: Value = serde_json::from_str(&self.read(LIST)).expect("is JSON");
        let features = list["features"].as_array().expect("an array");
        features
            .iter()
            .find(|feature| feature["id"] == id)
            .cloned()
            .unwrap_or_else(|| panic!("{id} in {list}"))
    }

    pub(crate) fn report_passed(&self, feature: &str, more: &[&str]) -> Ran {
        let words =
            [&["report", feature, "--role", "tester", "--outcome", "passed", "--json"], more]
                .concat();
        self.twining(&words)
    }
}

fn is_an_hour_old(entry: &fs::DirEntry) -> bool {
    let age = entry
        .metadata()
        .and_then(|found| found.modified())
        .ok()
        .and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age.as_secs() > 3600)
}

/// What a hook answered to a tool call.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// `allow`, `ask` or `deny`.
    pub permission: String,
    /// Why it was refused.
    pub reason: String,
    /// Message shown with an allowed call.
    pub note: String,
}

impl Verdict {
    fn of(ran: &Ran) -> Self {
        if ran.code == 2 {
            return Self {
                permission: "deny".to_owned(),
                reason: ran.stderr.clone(),
                note: String::new(),
            };
        }
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer: Value = if ran.stdout.trim().is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&ran.stdout).expect("answers in JSON")
        };
        let output = &answer["hookSpecificOutput"];
        let text = |name: &str| output[name].as_str().unwrap_or_default().to_owned();
        let permission = output["permissionDecision"].as_str().unwrap_or("allow").to_owned();
        Self {
            permission,
            reason: text("permissionDecisionReason"),
            note: text("additionalContext"),
        }
    }

    pub(crate) fn is_allowed(&self) -> bool {
        self.permission == "allow"
    }
}
