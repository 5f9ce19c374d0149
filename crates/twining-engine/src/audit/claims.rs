//! What a document claims of the code: paths, names, and the scripts its commands need.
//!
//! Only what can be checked becomes a claim, and nothing that is an example, a pattern, an address
//! or a placeholder: a false alarm costs more than a claim that was passed over.

use std::ops::Range;

use serde_json::Value;

use super::commands::{CommandNeed, is_command_line, needs_of_line};
use super::documents::DocumentKind;
use super::statements::{
    DocStatement, DocStatementKind, is_hypothetical, is_negated, is_superseded, statements,
};

/// What a claim is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ClaimSubject {
    /// A file or a folder, as written, without `./` and a line.
    Path {
        /// The path.
        path: String,
        /// The last line that is named with it.
        line: Option<usize>,
    },
    /// A name in the code: the words that must stand somewhere.
    Name(Vec<String>),
    /// Something that a command needs.
    Command(CommandNeed),
}

/// A claim in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocClaim {
    /// The line it stands in, from one.
    pub line: usize,
    /// As it is written.
    pub text: String,
    /// What it is about.
    pub subject: ClaimSubject,
    /// Whether it is a mistake even if the thing never was there: a link, an import, a script.
    pub is_certain: bool,
}

/// Extensions of files that projects hold.
const EXTENSIONS: &str = " rs ts tsx js jsx mjs cjs mts cts py pyi pyx go java kt kts scala c h cc cpp cxx hpp hh cs rb php swift \
    m mm sh bash zsh fish ps1 bat sql html htm css scss sass less vue svelte astro md mdx mdc rst txt adoc json jsonc \
    json5 jsonl yaml yml toml ini cfg conf xml proto graphql gql lock ex exs eex erl hs ml mli lua r jl dart zig nix tf \
    tfvars hcl mk cmake gradle properties ipynb snap prisma csv svg png gif jpg jpeg webp pdf plist j2 tmpl tpl hbs \
    ejs patch diff service pl pm elm clj cljs edn sol wgsl glsl po pot ";
/// Parts of paths that stand for something else.
const PLACEHOLDERS: &str =
    " foo bar baz qux foobar example sample your my some xxx filename something whatever ";
/// Folders that tools fill.
const GENERATED: &str = " dist build out target node_modules .next coverage __pycache__ .venv venv tmp temp .turbo .cache \
    .pytest_cache .mypy_cache .git logs .idea .vscode-test .nuxt .output ";

/// The claims of a document.
pub(super) fn claims_in(text: &str, kind: DocumentKind) -> Vec<DocClaim> {
    match kind {
        DocumentKind::JsonLines => line_claims(text),
        DocumentKind::DecisionRecord if is_superseded(text) => Vec::new(),
        DocumentKind::Instructions | DocumentKind::DecisionRecord => markdown_claims(text, kind),
    }
}

fn markdown_claims(text: &str, kind: DocumentKind) -> Vec<DocClaim> {
    let mut found = Vec::new();
    for statement in statements(text, kind) {
        match statement.kind {
            DocStatementKind::Prose => prose_claims(&statement, &mut found),
            DocStatementKind::Command => {
                let needs = needs_of_line(&statement.text).into_iter();
                let claims = needs.filter_map(|need| command_claim(need, statement.line, false));
                found.extend(claims);
            }
            DocStatementKind::FolderTree => tree_claims(&statement, &mut found),
        }
    }
    found
}

/// The claims of what memory servers keep: each observation is a statement.
fn line_claims(text: &str) -> Vec<DocClaim> {
    let mut found = Vec::new();
    for (line, value) in (1..).zip(text.lines().map(serde_json::from_str::<Value>)) {
        let Ok(value) = value else { continue };
        let observations = value["observations"].as_array().into_iter().flatten();
        let texts =
            observations.chain([&value["content"], &value["name"]]).filter_map(Value::as_str);
        for text in texts {
            let statement =
                DocStatement { kind: DocStatementKind::Prose, line, text: text.to_owned() };
            let mut claims = Vec::new();
            prose_claims(&statement, &mut claims);
            found.extend(claims.into_iter().map(|claim| DocClaim { line, ..claim }));
        }
    }
    found
}

fn prose_claims(statement: &DocStatement, found: &mut Vec<DocClaim>) {
    let text = &statement.text;
    let line_at = |at: usize| statement.line + text[..at].matches('\n').count();
    let is_struck =
        |at: usize| text[..at].matches("~~").count() % 2 == 1 && text[at..].contains("~~");
    let is_claimed = |place: &Range<usize>| !is_struck(place.start) && !is_negated(text, place);
    let (spans, links) = (code_spans(text), link_targets(text));
    for place in &spans {
        if is_claimed(place) {
            let is_hypothetical = is_hypothetical(text, place);
            add_span(&text[place.clone()], line_at(place.start), is_hypothetical, found);
        }
    }
    let is_in_code = |place: &Range<usize>| {
        spans.iter().any(|span| span.start <= place.start && place.end <= span.end)
    };
    for place in links.iter().filter(|place| !is_in_code(place) && is_claimed(place)) {
        let target = &text[(*place).clone()];
        let path = target.trim_start_matches("mdc:").split(['#', '?']).next().unwrap_or_default();
        if let Some(mut claim) = path_claim(&percent_decoded(path), line_at(place.start)) {
            claim.text = path.to_owned();
            claim.is_certain = !is_hypothetical(text, place);
            found.push(claim);
        }
    }
    let is_taken = |place: &Range<usize>| {
        spans.iter().chain(&links).any(|taken| taken.start < place.end && place.start < taken.end)
    };
    for place in bare_words(text) {
        let word = &text[place.clone()];
        let import = word.strip_prefix('@').filter(|path| extension(path) == Some("md"));
        let path = import.unwrap_or(word);
        let is_telling = path.contains('/') && extension(path).is_some() || import.is_some();
        if is_telling
            && !is_taken(&place)
            && is_claimed(&place)
            && let Some(mut claim) = path_claim(path, line_at(place.start))
        {
            claim.is_certain = import.is_some() && !is_hypothetical(text, &place);
            found.push(claim);
        }
    }
}

/// What a text in backticks claims.
fn add_span(span: &str, line: usize, is_hypothetical: bool, found: &mut Vec<DocClaim>) {
    let span = span.trim();
    if span.contains(char::is_whitespace) {
        if is_command_line(span) {
            let needs = needs_of_line(span).into_iter();
            found.extend(needs.filter_map(|need| command_claim(need, line, is_hypothetical)));
        }
        return;
    }
    // `src/a.rs#Signer` and `src/a.rs::sign` name a file and something in it.
    let (path, name) = match span.split_once("::").or_else(|| span.split_once('#')) {
        Some((path, name)) if extension(path).is_some() && split_line(span).1.is_none() => {
            (path, Some(name))
        }
        _ => (span, None),
    };
    if let Some(claim) = path_claim(path, line) {
        found.push(claim);
        found.extend(name.and_then(|name| name_claim(name, line)));
    } else if !span.contains('/') {
        found.extend(name_claim(span, line));
    }
}

fn command_claim(need: CommandNeed, line: usize, is_hypothetical: bool) -> Option<DocClaim> {
    let (text, is_certain) = match &need {
        CommandNeed::File(path) => return path_claim(path, line),
        CommandNeed::PackageScript { name, is_explicit } => (name.clone(), *is_explicit),
        CommandNeed::MakeTarget(name) | CommandNeed::JustRecipe(name) => (name.clone(), true),
        CommandNeed::CargoAlias(name) => (name.clone(), false),
    };
    let is_placeholder = is_in(PLACEHOLDERS, &text);
    let is_certain = is_certain && !is_hypothetical;
    let subject = ClaimSubject::Command(need);
    (!is_placeholder).then_some(DocClaim { line, text, subject, is_certain })
}

/// A path, with the line that follows it: `src/a.rs:12`, `src/a.rs:12-20`, `src/a.rs#L12`.
fn path_claim(written: &str, line: usize) -> Option<DocClaim> {
    let is_elided = written.contains("..") && !written.starts_with("../");
    let written = written.trim_end_matches([',', '.', ':', ';']);
    let (path, at_line) = split_line(written);
    let plain = path.strip_prefix("./").unwrap_or(path);
    if !is_path(plain) || is_elided {
        return None;
    }
    let subject = ClaimSubject::Path { path: plain.to_owned(), line: at_line };
    Some(DocClaim { line, text: path.to_owned(), subject, is_certain: false })
}

fn split_line(written: &str) -> (&str, Option<usize>) {
    let cut = written.rsplit_once(':').or_else(|| written.rsplit_once("#L"));
    let Some((path, lines)) = cut else { return (written, None) };
    let last = lines.rsplit(['-', '\u{2013}']).next().unwrap_or(lines).trim_start_matches('L');
    match last.parse() {
        Ok(number) if lines.starts_with(|c: char| c.is_ascii_digit() || c == 'L') => {
            (path, Some(number))
        }
        _ => (written, None),
    }
}

/// Whether a text can only be a path of this project.
fn is_path(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "._-/+@()[]#~".contains(c);
    let parts: Vec<&str> = text.trim_end_matches('/').split('/').collect();
    let is_folder = text.ends_with('/');
    let stem = |part: &str| {
        part.trim_start_matches('.').split('.').next().unwrap_or_default().to_lowercase()
    };
    (3..=200).contains(&text.len())
        && text.chars().all(allowed)
        && text.starts_with(|c: char| c.is_alphanumeric() || "._@([".contains(c))
        && !text.contains("...")
        && !text.contains("//")
        && !text.contains("path/to")
        // A link with its brackets, or a call.
        && text.matches('(').count() == text.matches(')').count()
        && (!text.ends_with(')') || text.contains('/'))
        // `.ts` alone is an extension, `@scope/package` a package, `1/2` a fraction.
        && !(text.starts_with('.') && parts.len() == 1 && !is_folder && text.matches('.').count() == 1)
        && !text.chars().all(|c| c.is_ascii_digit() || "./-v".contains(c))
        && (!text.starts_with('@') || text.starts_with("@/"))
        && !parts.iter().any(|part| is_in(PLACEHOLDERS, &stem(part)) || is_placeholder_part(part))
        && !parts.iter().any(|part| is_in(GENERATED, part) || part.starts_with(".env"))
        && (parts.len() > 1 || is_folder || extension(text).is_some())
        && !(parts.len() == 1 && is_folder && stem(parts[0]).len() < 2)
        && (parts[0].len() > 1 || parts.len() == 1 || parts[0] == "@")
        // `README.md/CHANGELOG.md` and `a.ts/b.ts` are two files.
        && !parts[..parts.len() - 1].iter().any(|part| extension(part).is_some() && !part.starts_with('.'))
}

fn is_placeholder_part(part: &str) -> bool {
    let part = part.to_lowercase();
    let number = part.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    // `0003-redis.md` is a document, `0000-title.md` and `000X-title.md` stand for any.
    let is_no_number = number.len() >= 3 && number.bytes().all(|digit| digit == b'0');
    is_no_number
        || ["your", "my-", "my_", "some-", "some_", "xxx", "yyyy", "nnn", "foo", "example"]
            .iter()
            .any(|mark| part.starts_with(mark))
}

/// The extension of a file, if it is one that projects hold.
pub(super) fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && is_in(EXTENSIONS, extension)).then_some(extension)
}

/// A name that looks like code, and the words of it that must stand in the code.
fn name_claim(written: &str, line: usize) -> Option<DocClaim> {
    let name =
        written.trim_start_matches(['@', '&', '*', '.', '#']).trim_end_matches([',', ';', ':']);
    let (name, is_call) = match name.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') => (name, true),
        Some(_) => return None,
        None => (name.strip_suffix('!').unwrap_or(name), false),
    };
    let name = name.split_once('<').map_or(name, |(name, _)| name);
    let is_scoped = name.contains("::");
    let parts: Vec<&str> = name.split("::").flat_map(|part| part.split('.')).collect();
    let is_identifier = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if parts.len() > 6 || name.len() > 120 || !parts.iter().all(|part| is_identifier(part)) {
        return None;
    }
    // `config.yml` is a file, `example.com` an address.
    if !is_call && !is_scoped && extension(name).is_some() {
        return None;
    }
    let last = parts.len() - 1;
    let words: Vec<String> = parts
        .iter()
        .enumerate()
        .filter(|(i, part)| {
            part.len() >= 4
                && (looks_like_code(part) || (*i == last && (is_call || is_scoped)))
                && !is_placeholder_name(part)
        })
        .map(|(_, part)| (*part).to_owned())
        .collect();
    let is_made_up = parts.iter().any(|part| is_placeholder_name(part));
    (!words.is_empty() && !is_made_up).then(|| DocClaim {
        line,
        text: written.to_owned(),
        subject: ClaimSubject::Name(words),
        is_certain: false,
    })
}

/// `snake_case`, `SCREAMING_CASE` or `CamelCase`.
fn looks_like_code(word: &str) -> bool {
    let inner = word.trim_matches('_');
    let has_hump = inner
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    inner.contains('_') || has_hump
}

fn is_placeholder_name(word: &str) -> bool {
    let word = word.to_lowercase();
    ["foo", "bar", "baz", "my_", "your", "example", "xxx", "some_"]
        .iter()
        .any(|mark| word.starts_with(mark))
        || word.starts_with("my") && word.len() > 4
}

/// The insides of code spans.
fn code_spans(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let run = |at: usize| bytes[at..].iter().take_while(|byte| **byte == b'`').count();
    let (mut spans, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find('`').map(|found| at + found) {
        let ticks = run(start);
        let mut end = start + ticks;
        let closing = loop {
            match text[end..].find('`').map(|found| end + found) {
                Some(next) if run(next) == ticks => break Some(next),
                Some(next) => end = next + run(next),
                None => break None,
            }
        };
        match closing {
            Some(next) => {
                spans.push(start + ticks..next);
                at = next + ticks;
            }
            None => at = start + ticks,
        }
    }
    spans
}

/// The targets of links that stay in the project.
fn link_targets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        let start = at + 2;
        // Folders of some frameworks have brackets in their names.
        let mut depth = 0;
        let end = text[start..].char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth < 0 || c.is_whitespace()
        });
        let Some((length, _)) = end else { continue };
        let target = text[start..start + length].trim_start_matches("mdc:");
        // `../blob/main/a.md` leads to a page of the host, not to a file.
        let is_page = target.split('/').any(|part| matches!(part, "blob" | "tree" | "issues"));
        let is_local = !target.contains(':') && !target.starts_with(['#', '/', '<']);
        if is_local && !is_page && !target.is_empty() {
            found.push(start..start + length);
        }
    }
    found
}

/// Words between spaces and brackets.
fn bare_words(text: &str) -> Vec<Range<usize>> {
    let is_end = |c: char| c.is_whitespace() || "`\"'<>,;|*(){}".contains(c);
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_end(*c)).chain([(text.len(), ' ')]) {
        if at > start {
            found.push(start..at);
        }
        start = (at + c.len_utf8()).min(text.len());
    }
    found
}

fn percent_decoded(path: &str) -> String {
    path.replace("%20", " ")
        .replace("%28", "(")
        .replace("%29", ")")
        .replace("%5B", "[")
        .replace("%5D", "]")
}

/// The paths of a drawn folder tree. How deep a line is says where its name begins.
fn tree_claims(statement: &DocStatement, found: &mut Vec<DocClaim>) {
    let mut folders: Vec<(usize, String)> = Vec::new();
    for (number, line) in (statement.line..).zip(statement.text.lines()) {
        let drawn = |c: char| "│├└─┬ \t|".contains(c) || c == '\u{a0}';
        let depth = line.chars().take_while(|c| drawn(*c)).count();
        let rest = line.trim_start_matches(drawn);
        let name = rest.split([' ', '\t']).next().unwrap_or_default();
        let comment = &rest[name.len()..];
        folders.retain(|(above, _)| *above < depth);
        let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._-/()[]@+".contains(c));
        if name.is_empty() || !is_plain || is_negated(comment, &(0..0)) {
            folders.push((depth, "?".to_owned()));
            continue;
        }
        let above: String =
            folders.iter().map(|(_, name)| format!("{}/", name.trim_end_matches('/'))).collect();
        folders.push((depth, name.to_owned()));
        let path = format!("{above}{name}");
        let is_named = name.ends_with('/') || extension(name).is_some();
        if is_named && !path.contains('?') && !above.is_empty() {
            found.extend(path_claim(&path, number));
        }
    }
}

fn is_in(words: &str, word: &str) -> bool {
    !word.is_empty() && words.contains(&format!(" {word} "))
}
