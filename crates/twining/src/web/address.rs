//! Addresses of the page: which there are, and which one the words of a command line lead to.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use twining_store::disk::Dir;

use crate::locate_project::FOLDER;
use crate::render::command_error::CommandError;

/// The pages, besides the first.
const PAGES: [&str; 8] =
    ["stream", "decisions", "features", "guards", "map", "preview", "health", "changes"];
/// Before a record's id or name: decision, entry, feature, guard, trace, agent, node.
const RECORDS: [&str; 7] = ["d", "e", "f", "g", "t", "a", "n"];
/// Fewest characters of an id that are taken for one.
const ID_CHARS: usize = 8;

const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const IN_QUERY: &AsciiSet = &IN_PATH.remove(b'/');

/// Whether the page shows something at this path.
pub(super) fn is_known(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        [""] => true,
        [page] => PAGES.contains(page),
        [kind, record] => RECORDS.contains(kind) && !record.is_empty() && *record != "..",
        _ => false,
    }
}

/// The address that words of a command line lead to. The project is looked into only for an id
/// without its kind.
pub(super) fn of_words(words: &[&str], project: &Dir) -> Result<String, CommandError> {
    let Some((first, rest)) = words.split_first() else { return Ok("/".to_owned()) };
    Ok(match (*first, rest) {
        ("now", []) => "/".to_owned(),
        (page, []) if PAGES.contains(&page) => format!("/{page}"),
        ("why", [scope]) => with_query("decisions", &[("scope", scope)]),
        ("preview", [task]) => with_query("preview", &[("task", task)]),
        ("preview", [task, scope]) => with_query("preview", &[("task", task), ("scope", scope)]),
        ("changes", [base]) => with_query("changes", &[("base", base)]),
        ("map", [around]) => with_query("map", &[("around", around)]),
        ("stream" | "decisions" | "features" | "guards", words) => {
            with_query(first, &[("q", &words.join(" "))])
        }
        (record, []) => of_record(record, project)?,
        _ => return Err(unknown(&words.join(" "))),
    })
}

fn of_record(word: &str, project: &Dir) -> Result<String, CommandError> {
    if let Some((kind, name)) = word.trim_start_matches('/').split_once('/') {
        let is_record = RECORDS.contains(&kind) && !name.is_empty();
        return if is_record { Ok(record(kind, name)) } else { Err(unknown(word)) };
    }
    let is_id = word.len() >= ID_CHARS && word.chars().all(|c| c.is_ascii_alphanumeric());
    if is_id && let Some(decision) = decision_named(&word.to_uppercase(), project) {
        return Ok(record("d", &decision));
    }
    // The last characters of an id may all be letters; other words of letters are mistakes.
    if !word.contains(|c: char| c.is_ascii_digit()) {
        return Err(unknown(word));
    }
    Ok(if is_id { record("e", &word.to_uppercase()) } else { record("f", word) })
}

/// The decision whose id begins or ends like this.
fn decision_named(part: &str, project: &Dir) -> Option<String> {
    let decisions = project.walk([FOLDER, "decisions"]).ok().flatten()?;
    let names = decisions.list().ok()?;
    let mut ids = names.iter().filter_map(|name| name.strip_suffix(".json"));
    ids.find(|known| known.starts_with(part) || known.ends_with(part)).map(str::to_owned)
}

fn record(kind: &str, name: &str) -> String {
    format!("/{kind}/{}", utf8_percent_encode(name, IN_PATH))
}

fn with_query(page: &str, fields: &[(&str, &str)]) -> String {
    let field =
        |(name, value): &(&str, &str)| format!("{name}={}", utf8_percent_encode(value, IN_QUERY));
    format!("/{page}?{}", fields.iter().map(field).collect::<Vec<_>>().join("&"))
}

fn unknown(words: &str) -> CommandError {
    CommandError::misuse(format!("`{words}` is no page and no record")).with_hint(format!(
        "give an id, now, {}, why SCOPE, preview TASK SCOPE, changes BRANCH, map NAME, or a record such as d/ID, g/GUARD, a/AGENT",
        PAGES.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use twining_testcases::each;

    use super::*;

    const ID: &str = "01M7EB3QWY4C5CPJF6982ZJQ18";
    /// Its end has no digit, as that of every twentieth id.
    const LETTERS: &str = "01M7EB3QWY4C5CPJF6ZJQKABCD";

    fn address(words: &[&str]) -> Result<String, CommandError> {
        let project = tempfile::tempdir().expect("a folder");
        let decisions = project.path().join(".twining/decisions");
        std::fs::create_dir_all(&decisions).expect("makes folders");
        for id in [ID, LETTERS] {
            std::fs::write(decisions.join(format!("{id}.json")), "{}").expect("writes");
        }
        of_words(words, &Dir::project(project.path(), None).expect("opens"))
    }

    #[test]
    fn words_lead_to_an_address_of_the_page() {
        let decision = format!("/d/{ID}");
        each(
            [
                (&[][..], "/"),
                (&["now"], "/"),
                (&["health"], "/health"),
                (&["why", "src/auth/"], "/decisions?scope=src/auth/"),
                (
                    &["preview", "rotate keys", "src/a&b.ts"],
                    "/preview?task=rotate%20keys&scope=src/a%26b.ts",
                ),
                (&["changes", "main"], "/changes?base=main"),
                (&["stream", "token", "expiry"], "/stream?q=token%20expiry"),
                (&["01M7EB3Q"], &decision),
                (&["982zjq18"], &decision),
                (&["zjqkabcd"], &format!("/d/{LETTERS}")),
                (&["01M7EB3X"], "/e/01M7EB3X"),
                (&["F7"], "/f/F7"),
                (&["g/no-force-push"], "/g/no-force-push"),
                (&["n/src/auth"], "/n/src%2Fauth"),
            ],
            |(words, wanted)| {
                let found = address(words).expect("leads somewhere");
                assert_eq!(found, wanted, "{words:?}");
                assert!(is_known(found.split('?').next().unwrap_or_default()), "{found}");
            },
        );
    }

    #[test]
    fn other_words_lead_nowhere() {
        each([&["decision"][..], &["x/1"], &["why"], &["preview", "a", "b", "c"]], |words| {
            assert!(address(words).is_err(), "{words:?}");
        });
    }

    #[test]
    fn only_addresses_of_the_page_are_known() {
        each(["/x", "/d/", "/d/..", "/d/a/b", "/stream/", "//", "", "/api", "/../d/a"], |path| {
            assert!(!is_known(path), "{path}");
        });
    }
}
