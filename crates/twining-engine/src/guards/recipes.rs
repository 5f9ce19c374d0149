//! What the files of a project say that a script runs: `package.json`, makefiles,
//! justfiles and files for the shell. Read as text; nothing is carried out.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::guards::Script;

/// Lines and names of one makefile that are looked at.
const MOST_LINES: usize = 10_000;
/// Bytes a line may grow to by its variables.
const MOST_GROWN: usize = 16 * 1024;

/// What a script does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Lines for the shell.
    pub(super) lines: String,
    /// What is done before it, or along with it.
    pub(super) others: Vec<Script>,
}

/// Finds a script in a folder. None where there is none, or where another program
/// than a shell is to read it.
pub(super) fn find(script: &Script, read: &dyn Fn(&str) -> Option<String>) -> Option<Recipe> {
    match script {
        Script::Package(name) => package(&read("package.json")?, name),
        Script::Make(Some(file), target) => make(&read(file)?, Some(file), target),
        Script::Make(None, target) => {
            let text = ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|name| read(name))?;
            make(&text, None, target)
        }
        Script::Just(name) => just(&["justfile", "Justfile", ".justfile"].iter().find_map(|name| read(name))?, name),
        Script::File(path) => shell(&read(path)?),
    }
}

fn package(text: &str, name: &str) -> Option<Recipe> {
    let package: Value = serde_json::from_str(text).ok()?;
    let script = |name: &str| package.get("scripts")?.get(name)?.as_str().map(str::to_owned);
    let own = script(name)?;
    // What stands around a script speaks along with it.
    let around = [script(&format!("pre{name}")), Some(own), script(&format!("post{name}"))];
    Some(Recipe { lines: around.into_iter().flatten().collect::<Vec<_>>().join("\n"), others: Vec::new() })
}

fn shell(text: &str) -> Option<Recipe> {
    let first = text.lines().next().unwrap_or_default();
    let is_ours = !first.starts_with("#!") || first.split(['/', ' ']).any(|word| matches!(word, "sh" | "bash" | "zsh" | "dash" | "ksh"));
    is_ours.then(|| Recipe { lines: text.to_owned(), others: Vec::new() })
}

fn make(text: &str, file: Option<&str>, target: &str) -> Option<Recipe> {
    let whole = text.replace("\\\n", " ");
    let mut variables = BTreeMap::from([("MAKE", "make"), ("SHELL", "sh")]);
    let mut found: Option<Recipe> = None;
    let mut is_in = false;
    for line in whole.lines().take(MOST_LINES) {
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some(found) = found.as_mut().filter(|_| is_in) {
                add_line(&mut found.lines, recipe);
            }
            continue;
        }
        if let Some((name, value)) = assignment(line) {
            variables.insert(name, value);
            continue;
        }
        let Some((targets, rest)) = line.split_once(':').filter(|_| !line.starts_with([' ', '#'])) else { continue };
        is_in = targets.split_whitespace().any(|name| name == target);
        if !is_in {
            continue;
        }
        let (needs, recipe) = rest.trim_start_matches(':').split_once(';').unwrap_or((rest.trim_start_matches(':'), ""));
        let found = found.get_or_insert_default();
        let needs = needs.split('#').next().unwrap_or_default().split_whitespace().filter(|need| *need != "|");
        found.others.extend(needs.map(|need| Script::Make(file.map(str::to_owned), need.to_owned())));
        add_line(&mut found.lines, recipe);
    }
    let mut found = found?;
    found.lines = with_values(&found.lines, &variables).replace("$@", target).replace("$$", "$");
    Some(found)
}

/// A line without the signs that only say how it is shown and what its failure means.
fn add_line(lines: &mut String, line: &str) {
    lines.push_str(line.trim_start().trim_start_matches(['@', '-', '+', ' ']));
    lines.push('\n');
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '!', '+']).trim().trim_start_matches("export ").trim();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    is_name.then(|| (name, value.trim()))
}

/// Puts values where variables stand, and theirs in turn.
fn with_values(lines: &str, variables: &BTreeMap<&str, &str>) -> String {
    let mut lines = lines.to_owned();
    for _ in 0..3 {
        let mut grown = String::new();
        let mut rest = lines.as_str();
        while let Some((before, after)) = rest.split_once('$') {
            grown.push_str(before);
            let close = if after.starts_with('(') { ')' } else { '}' };
            let named = after.strip_prefix(['(', '{']).and_then(|inner| inner.split_once(close));
            match named.and_then(|(name, rest)| Some((variables.get(name)?, rest))) {
                Some((value, after)) => {
                    grown.push_str(value);
                    rest = after;
                }
                None => {
                    grown.push('$');
                    // `$$` is one sign to the shell, and no variable.
                    let is_double = after.starts_with('$');
                    grown.push_str(if is_double { "$" } else { "" });
                    rest = if is_double { after.get(1..).unwrap_or_default() } else { after };
                }
            }
        }
        grown.push_str(rest);
        if grown.len() > MOST_GROWN.max(lines.len()) {
            break;
        }
        lines = grown;
    }
    lines
}

fn just(text: &str, name: &str) -> Option<Recipe> {
    let mut found: Option<Recipe> = None;
    for line in text.lines().take(MOST_LINES) {
        let is_indented = line.starts_with([' ', '\t']);
        match found.as_mut() {
            None if is_indented => {}
            None => {
                let Some((head, needs)) = line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')) else { continue };
                if head.trim_start_matches('@').split_whitespace().next() == Some(name) {
                    let needs = needs.split('#').next().unwrap_or_default().split_whitespace().filter(|need| *need != "&&");
                    let others = needs.map(|need| Script::Just(need.trim_matches(['(', ')']).to_owned())).collect();
                    found = Some(Recipe { lines: String::new(), others });
                }
            }
            Some(recipe) if is_indented => add_line(&mut recipe.lines, &without_values(line)),
            Some(_) if line.trim().is_empty() => {}
            Some(_) => break,
        }
    }
    // A recipe may be for any program that its first line names.
    found.and_then(|recipe| if recipe.lines.starts_with("#!") { shell(&recipe.lines) } else { Some(recipe) })
}

/// A line in which `{{name}}` is a word nobody knows.
fn without_values(line: &str) -> String {
    let mut parts = line.split("{{");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("$UNKNOWN");
        plain.push_str(part.split_once("}}").map_or("", |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(file: &str, text: &str, script: &Script) -> Option<Recipe> {
        find(script, &|path| (path == file).then(|| text.to_owned()))
    }

    #[test]
    fn what_a_script_runs_is_found_in_the_file_that_says_so() {
        let package = r#"{"scripts": {"pretest": "tsc", "test": "jest"}}"#;
        assert_eq!(recipe("package.json", package, &Script::Package("test".into())).map(|found| found.lines), Some("tsc\njest".to_owned()));
        assert_eq!(recipe("package.json", package, &Script::Package("jest".into())), None);

        let makefile = "RUN := cargo $(VERB)\nVERB=test\n.PHONY: test\nbuild:\n\tcc a.c\ntest: build ; @true\n\t@$(RUN) \\\n\t  -q # all\n\t-echo $$HOME\n\nx:\n\ty\n";
        let found = recipe("Makefile", makefile, &Script::Make(None, "test".into())).expect("a target");
        assert_eq!(found.lines, "true\ncargo test  \t  -q # all\necho $HOME\n");
        assert_eq!(found.others, [Script::Make(None, "build".into())]);
        assert_eq!(recipe("Makefile", makefile, &Script::Make(None, "gone".into())), None);

        let justfile = "x := '1'\ntest *ARGS: build\n    @cargo test {{ARGS}}\n\n    echo done\nother:\n    y\n";
        let found = recipe("justfile", justfile, &Script::Just("test".into())).expect("a recipe");
        assert_eq!((found.lines.as_str(), found.others), ("cargo test $UNKNOWN\necho done\n", vec![Script::Just("build".into())]));

        assert!(recipe("t.sh", "#!/usr/bin/env bash\necho", &Script::File("t.sh".into())).is_some());
        assert_eq!(recipe("t", "#!/usr/bin/env python3\nprint()", &Script::File("t".into())), None);
    }
}
