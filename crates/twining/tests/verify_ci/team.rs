//! A team: a bare repository, and a clone in which its records are made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_twining");
/// A person, and an agent, as git calls them.
pub(super) const ADA: &str = "Ada <ada@example.org>";
pub(super) const BOT: &str = "coder[bot] <bot@agents.example.org>";

pub(super) const POLICY: &str = "\
gates:
  feature:
    overrides:
      - complexity_range: [4, 6]
        coverage_threshold: 0.85
guards:
  - id: no-push
    tools: [Bash]
    when: {command: [git push]}
    action: block
    say: pushing is for people
";

pub(super) const HOOKS: &str = r#"{"hooks":{"PreToolUse":[{"command":"twining hook PreToolUse"}],"Stop":[{"command":"twining hook Stop"}]}}"#;

pub(super) struct Team {
    dir: tempfile::TempDir,
    /// The decision that rules moment out.
    pub decision: String,
}

/// What a run left.
#[derive(Debug)]
pub(super) struct Verified {
    pub code: i32,
    pub report: Value,
}

impl Team {
    /// A main branch with a decision, two entries, a feature list, a policy and hooks.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut team = Self { dir, decision: String::new() };
        team.git(Path::new("."), &["init", "-q", "--bare", "-b", "main", "origin.git"]);
        team.git(Path::new("."), &["clone", "-q", "origin.git", "work"]);
        team.git(&team.work(), &["checkout", "-q", "-B", "main"]);
        let decided = team.twining(&[
            "decide",
            "--summary",
            "No moment",
            "--domain",
            "dates",
            "--scope",
            "src/",
            "--context",
            "size",
            "--rationale",
            "it is large; use date-fns",
            "--constraint",
            "must_not_use: moment",
            "--json",
        ]);
        team.decision = decided["id"].as_str().expect("has an id").to_owned();
        team.twining(&["post", "finding", "the cache is slow", "--json"]);
        team.twining(&["post", "finding", "the queue is fast", "--json"]);
        team.write(".twining/policy.yml", POLICY);
        team.write(".twining/features.json", &features(false, false));
        team.write(".claude/settings.json", HOOKS);
        team.write("src/old.ts", "import moment from 'moment';\nexport const a = moment();\nexport const b = 1;\nexport const c = 2;\n");
        team.write("src/app.ts", "export const app = 1;\n");
        team.write("tests/app.test.ts", "it('adds', () => { expect(1 + 1).toBe(2); });\n");
        team.commit(ADA, "begin");
        team.git(&team.work(), &["push", "-q", "origin", "main"]);
        team
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(super) fn git(&self, at: &Path, words: &[&str]) -> String {
        let output = self.command("git", at).args(words).output().expect("git starts");
        assert!(
            output.status.success(),
            "git {words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A program, at a place below the team's folder, with nobody's settings.
    pub(super) fn command(&self, program: &str, at: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path().join(at)).stdin(Stdio::null());
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_AUTHOR_NAME", "Ada"),
        ] {
            command.env(name, value);
        }
        command
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_COMMITTER_NAME", "x")
            .env("GIT_COMMITTER_EMAIL", "x@example.org");
        command
            .env("XDG_CONFIG_HOME", self.dir.path().join("nobody"))
            .env("XDG_CACHE_HOME", self.dir.path().join("cache"));
        command.env_remove("TWINING_PROJECT").env_remove("TWINING_AGENT");
        command
    }

    /// Runs the program among the records.
    pub(super) fn twining(&self, words: &[&str]) -> Value {
        let output =
            self.command(PROGRAM, &self.work()).args(words).output().expect("the program starts");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().expect("has a folder")).expect("makes it");
        fs::write(path, text).expect("writes");
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.work().join(path)).expect("reads")
    }

    pub(super) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has {from}");
        self.write(path, &text.replace(from, to));
    }

    pub(super) fn commit(&self, author: &str, message: &str) {
        self.git(&self.work(), &["add", "-A"]);
        self.git(&self.work(), &["commit", "-q", "--author", author, "-m", message]);
    }

    /// The file of the decision.
    pub(super) fn decision_file(&self) -> String {
        format!(".twining/decisions/{}.json", self.decision)
    }

    /// Begins a pull request.
    pub(super) fn branch(&self) {
        self.git(&self.work(), &["checkout", "-q", "-B", "pr", "main"]);
    }

    pub(super) fn push(&self) {
        self.git(&self.work(), &["push", "-q", "-f", "origin", "pr"]);
    }

    /// Makes a pull request of one commit by an agent, and verifies it.
    pub(super) fn request(&self, words: &[&str], change: impl FnOnce(&Self)) -> Verified {
        self.branch();
        change(self);
        self.commit(BOT, "change");
        self.push();
        self.verify(words)
    }

    /// Verifies what was pushed, in a fresh clone.
    pub(super) fn verify(&self, words: &[&str]) -> Verified {
        let clone = self.dir.path().join("clone");
        let _ = fs::remove_dir_all(&clone);
        self.git(Path::new("."), &["clone", "-q", "origin.git", "clone"]);
        self.verify_at(&clone, "origin/main", "origin/pr", words)
    }

    pub(super) fn verify_at(&self, at: &Path, base: &str, head: &str, words: &[&str]) -> Verified {
        let mut command = self.command(PROGRAM, at);
        command.args(["verify", "--ci", "--json", "--base", base, "--head", head]).args(words);
        let output = command.output().expect("the program starts");
        let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Verified { code: output.status.code().unwrap_or(-1), report }
    }

    /// A JUnit report beside the clones.
    pub(super) fn junit(&self, name: &str, cases: &[(&str, &str)]) -> String {
        let cases: String = cases
            .iter()
            .map(|(case, end)| match *end {
                "passed" => format!("<testcase classname=\"app\" name=\"{case}\"/>"),
                end => format!("<testcase classname=\"app\" name=\"{case}\"><{end}/></testcase>"),
            })
            .collect();
        let path = self.dir.path().join(name);
        fs::write(
            &path,
            format!("<testsuites><testsuite name=\"all\">{cases}</testsuite></testsuites>"),
        )
        .expect("writes");
        path.display().to_string()
    }
}

/// The feature list, with each feature tested or not.
pub(super) fn features(login: bool, search: bool) -> String {
    let list = json!({"features": [
        {"id": "login", "description": "log in", "tested": login, "tests": ["logs in"]},
        {"id": "search", "description": "search", "tested": search},
    ]});
    format!("{list:#}\n")
}

impl Verified {
    /// `rule severity path:line` of each finding.
    pub(super) fn told(&self) -> Vec<String> {
        let findings = self.report["findings"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        findings
            .iter()
            .map(|found| {
                let line =
                    found["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
                format!(
                    "{} {} {}{line}",
                    text(&found["rule"]),
                    text(&found["severity"]),
                    text(&found["path"])
                )
            })
            .collect()
    }

    /// Fails unless nothing was found, and the run passed.
    pub(super) fn is_clean(&self) -> bool {
        assert_eq!((self.code, self.told()), (0, vec![]), "{:#}", self.report);
        true
    }

    /// Fails unless exactly this was found, and the run failed.
    pub(super) fn found(&self, findings: &[&str]) {
        assert_eq!(
            (self.code, self.told()),
            (3, findings.iter().map(|&found| found.to_owned()).collect()),
            "{:#}",
            self.report
        );
        for found in self.report["findings"].as_array().into_iter().flatten() {
            let words = found["message"].as_str().unwrap_or_default().split_whitespace().count();
            assert!((5..=60).contains(&words), "{words} words: {found}");
        }
    }
}
