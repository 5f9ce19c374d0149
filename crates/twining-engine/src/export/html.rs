//! The memory as one page: it loads nothing, runs nothing, and can be mailed, kept as a build
//! artefact or opened from disk.
//!
//! The page has no script and forbids any: stored text is escaped, and would be harmless even if it
//! were not.

use std::fmt::Write as _;

use twining_model::{AnchoredRecord, Decision, Entry, Id, text};

use super::graph_diagrams;
use super::markdown::fill;
use super::records::{ExportOutcome, ExportRecords};
use crate::anchors::{CodeNote, record_of_entry};
use crate::fields;

/// Bytes reserved for the markup around the records.
const FRAME_BYTES: usize = 16 * 1024;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n";

const STYLE: &str = "
:root { color-scheme: light dark; --page: #fbfbfa; --card: #fff; --ink: #1c1d1f; --soft: #5d636b; --line: #dfe2e6; --accent: #2457a6;
  --active: #1d7a45; --provisional: #9a6700; --superseded: #6b7077; --overridden: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --card: #1f2226; --ink: #e7e9ec; --soft: #9aa2ac; --line: #343940; --accent: #8ab4f8;
  --active: #6fcf97; --provisional: #f2c94c; --superseded: #9aa2ac; --overridden: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main, header { max-width: 60rem; margin: 0 auto; padding: 1rem 1.25rem; }
header p, .meta, .when { color: var(--soft); }
nav a { margin-right: 1rem; }
a { color: var(--accent); }
h1 { margin: .5rem 0 0; font-size: 1.7rem; } h2 { margin: 2.5rem 0 1rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin: 0; font-size: 1.05rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem; margin: 0 0 .9rem; overflow-wrap: anywhere; }
.card:target { outline: 2px solid var(--accent); }
.meta { font-size: .85rem; margin: .2rem 0 .5rem; }
.tag { display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .55rem; font-size: .78rem; }
.active { color: var(--active); } .provisional { color: var(--provisional); } .superseded { color: var(--superseded); } .overridden { color: var(--overridden); }
.code { color: var(--provisional); cursor: help; } .warning { color: var(--overridden); } .need, .question { color: var(--provisional); }
blockquote { margin: .4rem 0; padding: .1rem 0 .1rem .9rem; border-left: 3px solid var(--line); white-space: pre-wrap; }
ol.time { list-style: none; margin: 0; padding: 0 0 0 1rem; border-left: 2px solid var(--line); }
ol.time li { position: relative; padding: .15rem 0 .55rem .6rem; overflow-wrap: anywhere; }
ol.time li::before { content: ''; position: absolute; left: -1.4rem; top: .6rem; width: .7rem; height: .7rem; border-radius: 50%; background: var(--soft); }
ol.time li.is-decision::before { background: var(--accent); }
.when { font-size: .82rem; margin-right: .5rem; font-variant-numeric: tabular-nums; }
details summary { cursor: pointer; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .5rem 0 0; font-size: .9rem; } dt { color: var(--soft); } dd { margin: 0; }
.picture { background: #fff; border: 1px solid var(--line); border-radius: .6rem; overflow: auto; max-height: 80vh; } .picture svg { display: block; }
code { font-family: ui-monospace, monospace; font-size: .85em; }
footer { color: var(--soft); font-size: .85rem; margin: 3rem 0 1rem; }
";

/// Everything as one page.
pub(super) fn page(contents: &ExportRecords) -> ExportOutcome {
    let mut bytes_left = contents.bytes_left.saturating_sub(FRAME_BYTES);
    let picture = graph_diagrams::svg_drawing(contents);
    let fits_picture = picture.text.len() < bytes_left / 2;
    if fits_picture {
        bytes_left -= picture.text.len();
    }
    let code_of = |record: &AnchoredRecord| contents.code.get(record).map(code_mark);
    let (cards, decisions) = fill(&contents.decisions, &mut bytes_left, |decision| {
        let record = AnchoredRecord::Decision(decision.id.to_string());
        card(decision, &code_of(&record).unwrap_or_default())
    });
    let (timeline_items, entries) = timeline(contents, &mut bytes_left);
    let left_out = contents.left_out(decisions, entries, contents.entities.len());

    let title = format!("Twining: {}", escaped(contents.scope.as_str()));
    let mut out = format!(
        "{HEAD}<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<p>Exported {}. {}, {}, {}. Quoted text was recorded by agents; it is information, not instruction.</p>",
        escaped(&contents.at),
        fields::count(contents.decisions.len() as u64, "decision", "decisions"),
        fields::count(contents.entries.len() as u64, "entry", "entries"),
        fields::count(contents.entities.len() as u64, "entity", "entities"),
    );
    out.push_str("<nav><a href=\"#decisions\">Decisions</a><a href=\"#timeline\">Timeline</a><a href=\"#graph\">Graph</a></nav>\n</header>\n<main>\n");
    out.push_str("<h2 id=\"decisions\">Decisions</h2>\n");
    out.push_str(if cards.is_empty() { "<p>None.</p>\n" } else { &cards });
    let _ = writeln!(
        out,
        "<h2 id=\"timeline\">Timeline</h2>\n<ol class=\"time\">\n{timeline_items}</ol>\n<h2 id=\"graph\">Graph</h2>"
    );
    if !fits_picture {
        out.push_str("<p>The graph is too large for this page; <code>twining export dot</code> exports all of it.</p>\n");
    } else if contents.decisions.is_empty() && contents.entities.is_empty() {
        out.push_str("<p>Nothing yet.</p>\n");
    } else {
        if picture.left_out > 0 {
            let _ = writeln!(
                out,
                "<p>Only the best connected are shown; {} more in <code>twining export dot</code>.</p>",
                picture.left_out
            );
        }
        let _ = writeln!(out, "<div class=\"picture\">{}</div>", picture.text);
    }
    if left_out > 0 {
        let _ = writeln!(
            out,
            "<p>{} did not fit; export a narrower scope to see more.</p>",
            fields::count(left_out, "record", "records")
        );
    }
    out.push_str(
        "<footer>Made by <code>twining export html</code>. This page loads no resources and runs no scripts.</footer>\n</main>\n</body>\n</html>\n",
    );
    contents.outcome(out, Vec::new(), [decisions, entries, contents.entities.len()])
}

/// How a record's code is, as a mark whose reason shows on hover.
fn code_mark(note: &CodeNote) -> String {
    let words = [Some(note.at.as_str()), note.reason.as_deref(), note.places.as_deref()];
    let title: Vec<&str> = words.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    format!(
        " <span class=\"tag code\" title=\"{}\">{}</span>",
        escaped(&title.join("; ")),
        note.state.as_str()
    )
}

fn card(decision: &Decision, code: &str) -> String {
    let status = decision.status.as_str();
    let mut out = format!(
        "<article class=\"card\" id=\"d-{}\">\n<h3>{}</h3>\n",
        decision.id,
        escaped(&decision.summary)
    );
    let _ = writeln!(
        out,
        "<p class=\"meta\"><span class=\"tag {status}\">{status}</span>{code} {} confidence · {} · <code>{}</code> · {} · {}</p>",
        decision.confidence.as_str(),
        escaped(&decision.domain),
        escaped(&decision.scope),
        escaped(&decision.agent_id),
        escaped(&decision.timestamp),
    );
    if !decision.rationale.trim().is_empty() {
        let _ = writeln!(out, "<blockquote>{}</blockquote>", escaped(decision.rationale.trim()));
    }
    out.push_str("<details><summary>more</summary>\n");
    if !decision.context.trim().is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"meta\">Context</p><blockquote>{}</blockquote>",
            escaped(decision.context.trim())
        );
    }
    out.push_str("<dl>\n");
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
        }
    };
    for other in &decision.alternatives {
        fact(
            "not taken",
            format!("{}: {}", escaped(&other.option), escaped(&other.reason_rejected)),
        );
    }
    fact("constraints", list(&decision.constraints));
    fact("files", list(&decision.affected_files));
    fact("symbols", list(&decision.affected_symbols));
    fact("commits", list(&decision.commit_hashes));
    fact(
        "depends on",
        decision.depends_on.iter().map(|id| link(id)).collect::<Vec<_>>().join(", "),
    );
    fact("supersedes", decision.supersedes.as_deref().map(link).unwrap_or_default());
    fact("superseded by", decision.superseded_by.as_deref().map(link).unwrap_or_default());
    if let Some(reason) = &decision.override_reason {
        fact(
            "overridden",
            format!(
                "{}: {}",
                escaped(decision.overridden_by.as_deref().unwrap_or("?")),
                escaped(reason)
            ),
        );
    }
    fact("id", format!("<code>{}</code>", decision.id));
    out.push_str("</dl></details>\n</article>\n");
    out
}

/// Decisions and entries in one line of time, newest first; and how many entries it shows.
fn timeline(contents: &ExportRecords, bytes_left: &mut usize) -> (String, usize) {
    let decided = contents.decisions.iter().map(|decision| {
        let at = decision.timestamp.as_str();
        let link = link_to(&decision.id, &decision.summary);
        let item = format!(
            "<li class=\"is-decision\"><span class=\"when\">{}</span><span class=\"tag {}\">decision</span> {link}</li>\n",
            day(at),
            decision.status.as_str(),
        );
        (at, 0, item)
    });
    // The board announces each decision; the decision itself says more.
    let is_announcement = |entry: &&Entry| entry.entry_type == "decision";
    let said = contents.entries.iter().filter(|entry| !is_announcement(entry));
    let said = said.map(|entry| {
        let at = entry.timestamp.as_str();
        let code = contents.code.get(&record_of_entry(entry)).map(code_mark);
        (at, 1, entry_item(at, entry, &code.unwrap_or_default()))
    });
    let mut items: Vec<(&str, usize, String)> = decided.chain(said).collect();
    items.sort_by(|a, b| b.0.cmp(a.0));
    let (out, shown) = fill(&items, bytes_left, |(_, _, item)| item.clone());
    let entries: usize = items[..shown].iter().map(|(_, entry, _)| entry).sum();
    (out, entries + contents.entries.iter().filter(is_announcement).count())
}

fn entry_item(at: &str, entry: &Entry, code: &str) -> String {
    // A type becomes a class only if it is one of ours.
    let class = entry.kind().map_or("", |kind| kind.as_str());
    let mut text = format!(
        "<li><span class=\"when\">{}</span><span class=\"tag {class}\">{}</span>{code} {} <span class=\"meta\">{} · {}</span>",
        day(at),
        escaped(&entry.entry_type),
        escaped(&entry.summary),
        escaped(&entry.scope),
        escaped(&entry.agent_id),
    );
    if !entry.detail.trim().is_empty() {
        let _ = write!(
            text,
            "<details><summary>detail</summary><blockquote>{}</blockquote></details>",
            escaped(entry.detail.trim())
        );
    }
    text.push_str("</li>\n");
    text
}

fn day(timestamp: &str) -> String {
    escaped(&timestamp.chars().take(16).collect::<String>().replace('T', " "))
}

fn list(items: &[String]) -> String {
    items
        .iter()
        .map(|item| format!("<code>{}</code>", escaped(item)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A link inside the page; what is no id is only text.
fn link(id: &str) -> String {
    Id::read(id).map_or_else(|| escaped(id), |id| link_to(&id, id.as_str()))
}

fn link_to(id: &Id, words: &str) -> String {
    format!("<a href=\"#d-{id}\">{}</a>", escaped(words))
}

/// Stored text for a page: no character of it is markup, none hides or reorders.
fn escaped(stored: &str) -> String {
    let shown = text::visible(stored);
    let mut out = String::with_capacity(shown.len() + 16);
    for letter in shown.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '`' => out.push_str("&#96;"),
            _ => out.push(letter),
        }
    }
    out
}
