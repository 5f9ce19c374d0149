//! How the modules of a crate depend on each other: one way, and by their names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{TidyViolation, rust_files};

type Edges = BTreeMap<String, BTreeSet<String>>;

/// Every crate under `crates` whose top-level modules form a cycle, and every path that
/// hides behind the crate's root which module it leads to.
pub(super) fn check(crates: &Path) -> Vec<TidyViolation> {
    let mut untidy = Vec::new();
    let folders = std::fs::read_dir(crates).into_iter().flatten().flatten();
    for (name, src) in folders.map(|folder| {
        (folder.file_name().to_string_lossy().into_owned(), folder.path().join("src"))
    }) {
        let sources: Vec<(PathBuf, String)> = rust_files(&src)
            .into_iter()
            .filter_map(|file| {
                Some((
                    file.strip_prefix(&src).ok()?.to_path_buf(),
                    std::fs::read_to_string(&file).ok()?,
                ))
            })
            .collect();
        let (edges, rootward) = edges(&sources);
        untidy.extend(rootward.into_iter().map(|(file, path)| TidyViolation {
            file: Path::new(&name).join("src").join(file),
            line: 0,
            rule: format!("`{path}` does not say which module it is in"),
        }));
        let cycle = in_cycles(edges);
        if !cycle.is_empty() {
            let rule =
                format!("these modules depend on each other in a circle: {}", cycle.join(", "));
            untidy.push(TidyViolation { file: PathBuf::from(&name), line: 0, rule });
        }
    }
    untidy
}

/// Which module uses which, and the paths from the root that lead to no module.
fn edges(sources: &[(PathBuf, String)]) -> (Edges, Vec<(PathBuf, String)>) {
    let is_root = |file: &Path| file == Path::new("lib.rs") || file == Path::new("main.rs");
    let tests: Vec<PathBuf> =
        sources.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let product = sources.iter().filter(|(file, _)| {
        let is_test = file
            .ancestors()
            .any(|part| tests.iter().any(|test| part == test || part == test.with_extension("rs")));
        !is_test && !is_root(file) && !file.starts_with("bin")
    });
    let product: Vec<(String, &PathBuf, &String)> =
        product.map(|(file, text)| (module_of(file), file, text)).collect();
    let known: BTreeSet<&str> = product.iter().map(|(module, ..)| module.as_str()).collect();
    let (mut edges, mut rootward) = (Edges::new(), Vec::new());
    for (module, file, text) in &product {
        let used = edges.entry(module.clone()).or_default();
        for name in used_in(&without_tests(text)) {
            if !known.contains(name.as_str()) {
                rootward.push(((*file).clone(), ["crate::", &name].concat()));
            } else if name != *module {
                used.insert(name);
            }
        }
    }
    (edges, rootward)
}

fn module_of(file: &Path) -> String {
    let first = file
        .components()
        .next()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .unwrap_or_default();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules of a file that are there for tests only, as folders.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let is_own = |name: &str| matches!(name, "mod" | "lib" | "main");
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some(stem) if !is_own(stem) => folder.join(stem),
        _ => folder.to_path_buf(),
    };
    let after = text.split("#[cfg(test)]\n").skip(1);
    let names = after.filter_map(|rest| {
        rest.lines().next()?.trim().strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name)
    });
    names.map(|name| folder.join(name)).collect()
}

/// The code without comments and without what is there for tests only. Formatted code
/// closes an item where it opened it.
pub(super) fn without_tests(text: &str) -> String {
    let (mut kept, mut closing) = (String::new(), None);
    for line in text.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        match closing {
            Some(depth) if indent.len() == depth && (line.ends_with([';', '}'])) => closing = None,
            Some(_) => {}
            None if line.trim() == "#[cfg(test)]" => closing = Some(indent.len()),
            None => {
                kept.push_str(line.split("//").next().unwrap_or_default());
                kept.push('\n');
            }
        }
    }
    kept
}

/// The names that follow `crate::`, one by one or in braces.
fn used_in(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + path.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            used.extend(first_name(rest));
            continue;
        };
        let (mut depth, mut is_first) = (0_usize, true);
        for (at, c) in group.char_indices() {
            match c {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => is_first = true,
                c if is_first && !c.is_whitespace() => {
                    used.extend(first_name(&group[at..]));
                    is_first = false;
                }
                _ => {}
            }
        }
    }
    used
}

fn first_name(code: &str) -> Option<String> {
    let name: String = code.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The modules on a cycle, or on a way from one cycle to another: what is left when
/// those that nobody uses, or that use nobody, are taken away again and again.
fn in_cycles(mut edges: Edges) -> Vec<String> {
    loop {
        let before = edges.len();
        let named: BTreeSet<String> = edges.values().flatten().cloned().collect();
        edges.retain(|module, used| !used.is_empty() && named.contains(module));
        let left: BTreeSet<String> = edges.keys().cloned().collect();
        edges.values_mut().for_each(|used| used.retain(|module| left.contains(module)));
        if edges.len() == before {
            return edges.into_keys().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<(PathBuf, String)> =
            files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect();
        in_cycles(edges(&sources).0)
    }

    #[test]
    fn a_circle_of_three_modules_is_noticed_and_who_only_uses_it_is_not() {
        let three = [
            ("cli.rs", "use crate::a;"),
            ("a/mod.rs", "use crate::{\n    b::{self, X},\n    d,\n};"),
            ("b.rs", "fn f() -> crate::c::deep::Y {}"),
            ("c/deep.rs", "use crate::a::Z;"),
            ("d.rs", "// crate::a"),
        ];
        assert_eq!(cycle(&three), ["a", "b", "c"]);
    }

    #[test]
    fn what_tests_use_makes_no_circle() {
        let tests = [
            ("lib.rs", "#[cfg(test)]\nmod testing;\n"),
            ("a.rs", "use crate::b;\n"),
            (
                "b/mod.rs",
                "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod inline {\n    use crate::a;\n}\n",
            ),
            ("b/tests.rs", "use crate::a;"),
            ("b/tests/deep.rs", "use crate::a;"),
            ("testing.rs", "use crate::a;"),
        ];
        assert_eq!(cycle(&tests), [] as [&str; 0]);
    }

    #[test]
    fn a_path_through_the_root_is_noticed() {
        let sources = [("a.rs", "use crate::b::X;\nuse crate::Y;"), ("b.rs", "")]
            .map(|(file, text)| (PathBuf::from(file), text.to_owned()));
        assert_eq!(edges(&sources).1, [(PathBuf::from("a.rs"), "crate::Y".to_owned())]);
    }
}
