use serde_json::Value;
use twining_model::{Alternative, limits};
use twining_testcases::each;

use crate::testing::{Project, caller, choice};
use crate::{DecideInput, ExportInput, ExportOutcome, PostInput};

fn export(project: &Project, format: &str, scope: Option<&str>) -> ExportOutcome {
    let input = ExportInput {
        format: Some(format.into()),
        scope: scope.map(str::to_owned),
        ..ExportInput::default()
    };
    project.engine.export(&input).expect("exports")
}

fn filled() -> Project {
    let project = Project::new();
    let alternative = Alternative {
        option: "sessions".into(),
        pros: vec!["simple".into()],
        cons: vec![],
        reason_rejected: "needs redis".into(),
    };
    project.decide(&DecideInput {
        affected_files: vec!["src/auth/jwt.ts".into()],
        alternatives: vec![alternative],
        ..choice("architecture", "src/auth/", "use stateless JWT")
    });
    project.post_in("src/auth/", "finding", "tokens expire");
    project.post_in("docs/", "finding", "elsewhere");
    project
}

#[test]
fn markdown_tells_decisions_entries_and_entities() {
    let outcome = export(&filled(), "markdown", None);
    assert_eq!((outcome.decisions, outcome.entries, outcome.truncated), (1, 3, false));
    each(
        [
            "### use stateless JWT",
            "not taken: sessions: needs redis",
            "tokens expire",
            "file src/auth/jwt.ts",
        ],
        |words| {
            assert!(outcome.content.contains(words), "{words}:\n{}", outcome.content);
        },
    );
}

#[test]
fn a_scope_leaves_out_what_lies_elsewhere() {
    let outcome = export(&filled(), "markdown", Some("src/auth"));
    assert_eq!((outcome.decisions, outcome.entries), (1, 2));
    assert!(!outcome.content.contains("elsewhere"));
}

#[test]
fn json_is_the_records_themselves() {
    let outcome = export(&filled(), "json", None);
    let content: Value = serde_json::from_str(&outcome.content).expect("is JSON");
    assert_eq!(content["decisions"][0]["summary"], "use stateless JWT");
    assert_eq!(content["entries"].as_array().map(Vec::len), Some(3));
    assert_eq!(content["left_out"], 0);
}

#[test]
fn madr_is_one_numbered_record_a_decision() {
    let project = filled();
    project.decide(&choice("testing", "src/", "mock the clock"));
    let outcome = export(&project, "madr", None);
    let names: Vec<&str> = outcome.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["0002-mock-the-clock.md", "0001-use-stateless-jwt.md"]);
    assert!(
        outcome.files[1].content.contains("## Considered Options")
            && outcome.files[1].content.contains("* Rejected: needs redis")
    );
    assert!(outcome.content.contains("(0001-use-stateless-jwt.md)"));
}

#[test]
fn stored_text_cannot_pass_for_the_document() {
    let project = Project::new();
    let detail = "# Instructions\n<script>alert(1)</script>\n\u{1b}]52;c;aGk=\u{7}".to_owned();
    let input = PostInput {
        entry_type: "finding".into(),
        summary: "x".into(),
        detail: Some(detail),
        ..PostInput::default()
    };
    project.engine.post(&caller("eve"), &input).expect("posts");
    let content = export(&project, "markdown", None).content;
    assert!(content.contains("> # Instructions") && !content.contains("\n# Instructions"));
    assert!(!content.contains("<script>") && !content.contains('\u{1b}'));
}

#[test]
fn an_export_that_does_not_fit_says_what_it_left_out() {
    let project = Project::new();
    for n in 0..20 {
        let detail = Some("x".repeat(limits::TEXT_BYTES - 1));
        let input = PostInput {
            entry_type: "finding".into(),
            summary: format!("finding {n}"),
            detail,
            ..PostInput::default()
        };
        project.engine.post(&caller("ada"), &input).expect("posts");
    }
    for format in ["markdown", "json"] {
        let outcome = export(&project, format, None);
        assert!(outcome.truncated && outcome.entries < 20, "{format}");
        assert!(
            outcome.content.len() <= limits::ANSWER_BYTES,
            "{format}: {}",
            outcome.content.len()
        );
    }
    let outcome = export(&project, "markdown", None);
    let left_out = format!("{} records did not fit and were left out", 20 - outcome.entries);
    assert!(outcome.content.contains(&left_out), "{left_out}");
}

#[test]
fn one_record_that_does_not_fit_is_left_out_in_the_singular() {
    let project = Project::new();
    let mut posted = 0;
    loop {
        let detail = Some("x".repeat(limits::TEXT_BYTES - 1));
        let input = PostInput {
            entry_type: "finding".into(),
            summary: "long".into(),
            detail,
            force: true,
            ..PostInput::default()
        };
        project.engine.post(&caller("ada"), &input).expect("posts");
        posted += 1;
        let outcome = export(&project, "markdown", None);
        if outcome.truncated {
            assert_eq!(outcome.entries, posted - 1);
            assert!(outcome.content.contains("1 record did not fit and was left out"));
            return;
        }
    }
}

#[test]
fn an_unknown_format_is_refused_by_name() {
    let failure = Project::new()
        .engine
        .export(&ExportInput { format: Some("pdf".into()), ..ExportInput::default() })
        .expect_err("refused");
    assert!(failure.to_string().starts_with("`format` must be one of markdown, json, madr"));
}

/// Text that would do something on a page that does not escape it.
const HOSTILE: [&str; 9] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</title></style><script>alert(1)</script>",
    "</blockquote><iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "\u{202e}evil\u{1b}[31m<meta http-equiv=refresh content=0>",
];

fn besieged() -> Project {
    let project = Project::new();
    for (n, text) in HOSTILE.iter().enumerate() {
        let alternative = Alternative {
            option: (*text).into(),
            pros: vec![(*text).into()],
            cons: vec![],
            reason_rejected: (*text).into(),
        };
        project.decide(&DecideInput {
            rationale: (*text).into(),
            context: (*text).into(),
            constraints: vec![(*text).into()],
            alternatives: vec![alternative],
            affected_symbols: vec![(*text).into()],
            ..choice(text, "src/", &format!("{n} {text}"))
        });
        let input = PostInput {
            entry_type: "warning".into(),
            summary: format!("{n} {text}"),
            detail: Some((*text).into()),
            agent_id: Some((*text).into()),
            ..PostInput::default()
        };
        project.engine.post(&caller("eve"), &input).expect("posts");
        project.add_entity(text, "concept");
    }
    project.write(
        "blackboard.jsonl",
        "{\"id\":\"x\",\"entry_type\":\"<script>\",\"scope\":\"<b>\",\"timestamp\":\"<i>\",\"agent_id\":\"<u>\",\"summary\":\"<s>\"}\n",
    );
    project
}

#[test]
fn a_page_is_whole_and_runs_nothing() {
    let content = export(&filled(), "html", None).content;
    each(
        [
            "<!doctype html>",
            "Content-Security-Policy",
            "default-src 'none'",
            "use stateless JWT",
            "tokens expire",
            "<svg",
            "prefers-color-scheme: dark",
        ],
        |words| {
            assert!(content.contains(words), "{words}:\n{content}");
        },
    );
    let lower = content.to_lowercase();
    for never in
        ["<script", "<link", "<img", "http://", "https://", "@import", "url(h", "javascript"]
    {
        assert!(!lower.replace("http://www.w3.org/", "").contains(never), "{never}");
    }
}

#[test]
fn hostile_text_stays_text_on_the_page() {
    let content = export(&besieged(), "html", None).content;
    // Every tag on the page is one that the page itself writes.
    let known = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "h2",
        "h3",
        "p",
        "nav",
        "a",
        "main",
        "article",
        "span",
        "code",
        "blockquote",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
        "ol",
        "li",
        "div",
        "footer",
        "svg",
        "defs",
        "marker",
        "path",
        "rect",
        "text",
        "g",
    ];
    each(content.split('<').skip(1), |tag| {
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '!')
            .collect();
        assert!(known.contains(&name.as_str()), "<{}", tag.chars().take(60).collect::<String>());
        let attributes = tag.split('>').next().unwrap_or_default().to_lowercase();
        let handler =
            attributes.split_whitespace().any(|word| word.starts_with("on") && word.contains('='));
        assert!(!handler && !attributes.contains("javascript:"), "<{attributes}>");
    });
    assert!(!content.contains('\u{1b}') && !content.contains('\u{202e}'));
}

#[test]
fn pictures_show_decisions_and_what_they_touch() {
    let dot = export(&filled(), "dot", None).content;
    let document = twining_dot::DotDocument::parse(dot.clone());
    assert!(document.errors.is_empty(), "{dot}");
    assert_eq!(
        (document.graph().nodes.len(), document.graph().edges.len()),
        (2, 1),
        "a decision and its file: {dot}"
    );
    let mermaid = export(&filled(), "mermaid", None).content;
    assert!(mermaid.contains("use stateless JWT") && mermaid.contains("decided_by"), "{mermaid}");
    each(["dot", "mermaid"], |format| {
        let content = export(&besieged(), format, None).content;
        assert!(!content.contains('\u{1b}') && !content.contains('\u{202e}'), "{content}");
    });
    assert!(
        twining_dot::DotDocument::parse(export(&besieged(), "dot", None).content).errors.is_empty()
    );
}
