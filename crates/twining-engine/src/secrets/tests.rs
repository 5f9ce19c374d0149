use proptest::prelude::*;
use twining_testcases::each;

use crate::secrets::{redact, secrets_in};
use crate::testing::{NoHistory, Project, caller, choice};
use crate::{AddEntityInput, DecideInput, HandoffInput, PostInput, RecordTurnInput};

const FORMATS: &str = include_str!("../../../../fixtures/secrets/formats.txt");
const HONEST: &str = include_str!("../../../../fixtures/secrets/honest.txt");

/// Chance that is the same every time.
struct Chance(u64);

impl Chance {
    fn of(&mut self, letters: &[u8]) -> char {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(letters[usize::try_from(self.0 >> 33).expect("31 bits") % letters.len()])
    }

    fn draw(&mut self, kind: &str) -> String {
        const ALNUM: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        const HEX: &[u8] = b"0123456789abcdef";
        if kind == "ulid" {
            return format!(
                "01{}",
                (0..24).map(|_| self.of(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")).collect::<String>()
            );
        }
        if kind == "uuid" {
            return [8, 4, 4, 4, 12]
                .map(|length| (0..length).map(|_| self.of(HEX)).collect::<String>())
                .join("-");
        }
        let (kind, length) = kind.split_once(':').expect("kind:length");
        let letters: Vec<u8> = match kind {
            "alnum" => ALNUM.to_vec(),
            "word" => [ALNUM, b"_-"].concat(),
            "b64" => [ALNUM, b"+/"].concat(),
            "upper" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".to_vec(),
            "hex" => HEX.to_vec(),
            "digits" => b"0123456789".to_vec(),
            other => panic!("no such kind: {other}"),
        };
        (0..length.parse().expect("a number")).map(|_| self.of(&letters)).collect()
    }

    /// The text with everything drawn.
    fn fill(&mut self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            let end = rest[at..].find('}').map(|end| at + end);
            let inside = end.map(|end| &rest[at + 1..end]).filter(|kind| {
                *kind == "ulid" || *kind == "uuid" || kind.contains(':') && !kind.contains(' ')
            });
            out.push_str(&rest[..at]);
            match (inside, end) {
                (Some(kind), Some(end)) => {
                    out.push_str(&self.draw(kind));
                    rest = &rest[end + 1..];
                }
                _ => {
                    out.push('{');
                    rest = &rest[at + 1..];
                }
            }
        }
        out.push_str(rest);
        out.replace('·', "").replace("\\n", "\n")
    }
}

fn lines(corpus: &'static str) -> impl Iterator<Item = &'static str> {
    corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

#[test]
fn known_formats_are_found_and_what_only_looks_like_them_is_not() {
    let mut chance = Chance(7);
    let (mut secrets, mut missed) = (0, Vec::new());
    for line in lines(FORMATS) {
        let (kind, template) = line.split_once('\t').expect("kind<TAB>text");
        for _ in 0..4 {
            let text = chance.fill(template);
            secrets += 1;
            let (clean, kinds) = redact(&text);
            let found = if kind == "assigned" { !kinds.is_empty() } else { kinds.contains(&kind) };
            if !found || !secrets_in(&clean).is_empty() {
                missed.push(format!("{kind}: {text} -> {clean}"));
            }
        }
    }
    let (mut honest, mut alarms) = (0, Vec::new());
    for template in lines(HONEST) {
        for _ in 0..3 {
            let text = chance.fill(template);
            honest += 1;
            let (clean, kinds) = redact(&text);
            if !kinds.is_empty() {
                alarms.push(format!("{kinds:?}: {text} -> {clean}"));
            }
        }
    }
    assert!(secrets >= 100 && honest >= 200, "{secrets} secrets, {honest} others");
    let recall =
        f64::from(secrets - i32::try_from(missed.len()).expect("few")) / f64::from(secrets);
    let false_alarms = alarms.len() as f64 / f64::from(honest);
    let report = format!(
        "{secrets} secrets, recall {recall:.4}; {honest} others, false alarms {false_alarms:.4}\nmissed: {missed:#?}\nfalse: {alarms:#?}"
    );
    eprintln_in_tests(&report);
    assert!(recall >= 0.98 && false_alarms <= 0.01, "{report}");
}

/// Seen with `--no-capture`.
#[expect(clippy::print_stderr, reason = "the figures are what this is run for")]
fn eprintln_in_tests(report: &str) {
    eprintln!("{report}");
}

/// A secret for a story.
fn github() -> String {
    Chance(3).fill("gh·p_{alnum:36}")
}

#[test]
fn a_secret_reaches_no_file_whichever_verb_it_comes_with() {
    let project = Project::new();
    let secret = github();
    let post = PostInput {
        entry_type: "finding".into(),
        summary: format!("works with {secret}"),
        detail: Some(format!("x\n{secret}")),
        ..PostInput::default()
    };
    let posted = project.engine.post(&caller("ada"), &post).expect("posts");
    assert_eq!(
        posted
            .redacted
            .iter()
            .map(|gone| (gone.field.as_str(), gone.kind.as_str()))
            .collect::<Vec<_>>(),
        [("summary", "GitHub token"), ("detail", "GitHub token")]
    );
    assert_eq!(project.entry(&posted.id).summary, "works with [redacted GitHub token]");
    let decide = DecideInput {
        rationale: format!("because {secret}"),
        constraints: vec![secret.clone()],
        ..choice("api", "src/", "use it")
    };
    assert_eq!(project.decide(&decide).redacted.len(), 2);
    let entity = AddEntityInput {
        name: "db".into(),
        kind: "concept".into(),
        properties: [("password".to_owned(), "hunter2hunter2!".to_owned())].into(),
        agent_id: None,
    };
    assert_eq!(project.engine.add_entity(&caller("ada"), &entity).expect("adds").redacted.len(), 1);
    let handoff = HandoffInput {
        summary: "over to you".into(),
        results: vec![twining_model::HandoffResult {
            description: format!("deployed with {secret}"),
            status: "completed".into(),
            ..Default::default()
        }],
        ..HandoffInput::default()
    };
    assert_eq!(
        project.engine.handoff(&caller("ada"), &handoff).expect("hands over").redacted.len(),
        1
    );
    let turn = RecordTurnInput {
        feature: Some("F1".into()),
        task: "T1".into(),
        turn: 1,
        player_decision: "implemented".into(),
        coach_decision: "approve".into(),
        progress_summary: format!("set {secret}"),
        ..RecordTurnInput::default()
    };
    assert_eq!(
        project.engine.record_turn(&caller("ada"), &turn).expect("records").redacted.len(),
        1
    );
    project.write(
        "pending-posts.jsonl",
        &format!("{{\"entry_type\":\"finding\",\"summary\":\"queued {secret}\"}}\n"),
    );
    assert_eq!(project.engine.drain_queues(&caller("ada"), &NoHistory).expect("drains").posted, 1);
    project.engine.store().housekeep().expect("writes the arrays");
    assert_eq!(holding(project.path(), &secret), Vec::<String>::new());
    assert_eq!(holding(project.path(), "hunter2hunter2!"), Vec::<String>::new());
}

/// The files under a folder that hold a text.
fn holding(dir: &std::path::Path, text: &str) -> Vec<String> {
    let (mut found, mut todo) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = todo.pop() {
        for path in std::fs::read_dir(dir).expect("is readable").flatten().map(|entry| entry.path())
        {
            // A hook's own writes disappear with their queue.
            let is_queue =
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("posts-"));
            if is_queue {
                continue;
            }
            if path.is_dir() {
                todo.push(path);
            } else if std::fs::read(&path).is_ok_and(|bytes| {
                bytes.windows(text.len()).any(|window| window == text.as_bytes())
            }) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn secrets_that_came_from_elsewhere_are_found_by_a_scan() {
    let project = Project::new();
    project.post("finding", "nothing to hide");
    let secret = github();
    let line = format!(
        "{{\"id\":\"hook-1\",\"timestamp\":\"2026-11-14T00:00:00.000Z\",\"entry_type\":\"finding\",\"summary\":\"{secret}\",\"scope\":\"project\"}}\n"
    );
    let board = project.path().join(".twining/blackboard.jsonl");
    let before = std::fs::read_to_string(&board).expect("is there");
    std::fs::write(&board, before + &line).expect("writes");
    project.write_decision(
        "01K9Z3M4E0DEC1S10NAAAAAAA1",
        &serde_json::json!({"rationale": format!("with {secret}")}),
    );
    let scan = project.engine.scan_secrets().expect("scans");
    let found: Vec<(&str, &str)> =
        scan.found.iter().map(|found| (found.id.as_str(), found.field.as_str())).collect();
    assert_eq!(found, [("hook-1", "summary"), ("01K9Z3M4E0DEC1S10NAAAAAAA1", "rationale")]);
    assert_eq!((scan.records, scan.secrets), (3, 2));
}

#[test]
fn a_quoted_assignment_is_found_in_lists_and_nested_fields() {
    let project = Project::new();
    let assigned = "set \"password\": \"hunter2hunter2!\"";
    let fields = serde_json::json!({"constraints": [assigned], "alternatives": [{"option": "o", "pros": [assigned]}]});
    project.write_decision("01K9Z3M4E0DEC1S10NAAAAAAA1", &fields);
    let scan = project.engine.scan_secrets().expect("scans");
    let mut found: Vec<&str> = scan.found.iter().map(|found| found.field.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["alternatives", "constraints"], "{scan:?}");
}

#[test]
fn secrets_in_graph_agents_and_knowledge_are_found_too() {
    let project = Project::new();
    project.add_entity("auth", "module");
    project.engine.store().housekeep().expect("keeps house");
    let secret = github();
    let folder = project.path().join(".twining");
    let graph = std::fs::read_to_string(folder.join("graph/entities.json")).expect("is there");
    std::fs::write(
        folder.join("graph/entities.json"),
        graph.replace("\"auth\"", &format!("\"auth {secret}\"")),
    )
    .expect("writes");
    std::fs::create_dir_all(folder.join("agents")).expect("makes a folder");
    let agents = format!("[\n {{\"agent_id\":\"ada\",\"description\":\"{secret}\"}}\n]\n");
    std::fs::write(folder.join("agents/registry.json"), agents).expect("writes");
    let knowledge =
        format!("digraph k {{\n  a [type=\"component\", description=\"{secret}\"];\n}}\n");
    std::fs::write(folder.join("knowledge.dot"), knowledge).expect("writes");
    let scan = project.engine.scan_secrets().expect("scans");
    let mut files: Vec<&str> =
        scan.found.iter().map(|found| found.file.rsplit('/').next().unwrap_or_default()).collect();
    files.sort_unstable();
    assert_eq!(files, ["entities.json", "knowledge.dot", "registry.json"], "{scan:?}");
}

#[test]
fn a_secret_in_base_64_is_found_too() {
    // "password=Tr0ub4dor-and-3-more" in base 64.
    let (clean, kinds) = redact("auth: cGFzc3dvcmQ9VHIwdWI0ZG9yLWFuZC0zLW1vcmU= done");
    assert_eq!((clean.as_str(), kinds.len()), ("auth: [redacted secret in base 64] done", 1));
}

#[test]
fn hostile_text_takes_no_longer_than_its_length() {
    let kilobytes = 64 * 1024;
    each(
        [
            "AKIA",
            "ghp_",
            "xoxb-",
            "eyJ",
            "eyJ.",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "://",
            "a://b:c",
            ":AA",
            "password=",
            "token: ",
            "= ",
            "sk-",
            "A",
            "\"",
            "Bearer ",
            "€",
        ],
        |part| {
            let text = part.repeat(kilobytes / part.len());
            // Would take minutes, and be ended by nextest, if any part were looked at again for each
            // of its bytes.
            let (clean, kinds) = redact(&text);
            assert!(clean.len() <= text.len(), "{part}");
            assert_eq!(kinds.is_empty(), clean == text, "{part}: {kinds:?}");
        },
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_what_is_left_is_the_text_around(text in "\\PC{0,80}", end in "[ -~]{0,60}") {
        let text = format!("{text}password={end}://a:{end}@b eyJ{end}");
        let (clean, kinds) = redact(&text);
        if kinds.is_empty() {
            prop_assert_eq!(clean, text);
        }
    }
}

#[test]
fn a_private_key_is_one_however_short_or_cut_off() {
    let head = format!("-----BEGIN {}PRIVATE KEY-----", "");
    let rsa = format!("-----BEGIN RSA {}-----", "PRIVATE KEY");
    let foot = format!("-----END {}-----", "PRIVATE KEY");
    each(
        [
            format!("{head}\nabc\n{foot}"),
            format!("{rsa}\nabc=\n-----END RSA PRIVATE KEY-----"),
            format!("key: {head}\r\nabc\r\ndef\r\n{foot} and more"),
            format!("{head}\\nabc\\n{foot}"),
            format!("{head}abc{foot}"),
            format!("{head}\nMIIEvQIBADAN"),
            format!("  {head}\n  abc\n  {foot}"),
            format!("{head}\n\nabc\n"),
        ],
        |body| {
            let (shown, kinds) = redact(&body);
            assert_eq!(kinds, ["private key"], "{body:?}");
            assert!(!shown.contains("abc") && !shown.contains("MIIEvQ"), "{shown:?}");
        },
    );
    assert_eq!(
        redact(&format!("a {head}\nabc\n{foot} and more")).0,
        "a [redacted private key] and more"
    );
    for mention in [
        format!("what stands between {head} and {foot} is secret"),
        head.clone(),
        format!("{head}\n...\n{foot}"),
        format!("{head}{foot}"),
        format!("{head}\n{foot}"),
        format!("looks for {head}\nand then it stops reading"),
    ] {
        assert_eq!(redact(&mention).1, [""; 0], "{mention:?}");
    }
}
