//! Command lines in documents: which scripts, targets and files they need to be there.

/// What a command line needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum CommandNeed {
    /// A script of a `package.json`.
    PackageScript {
        /// Its name.
        name: String,
        /// Whether `run` says that it is one; else it may be a program of a dependency.
        is_explicit: bool,
    },
    /// A target of a makefile.
    MakeTarget(String),
    /// A recipe of a justfile.
    JustRecipe(String),
    /// A command of cargo that may be an alias.
    CargoAlias(String),
    /// A file.
    File(String),
}

/// Words of package managers that are no scripts.
const PACKAGE_MANAGER_WORDS: &str = " add audit bin cache ci config create deploy dedupe dlx doctor env exec fetch fund global \
    help import info init install i install-test link list licenses login logout ls node npm nx outdated pack patch \
    patch-commit pkg plugin prune publish rebuild remove rm root search self-update set setup store \
    team tsc npx un uninstall unlink up update upgrade upgrade-interactive version view whoami why \
    workspaces x workspace run test start stop restart t r constraints stage bin approve-builds catalog ";
/// Flags of package managers that take a value.
const VALUE_FLAGS: &str = " -C --dir --cwd --prefix -w --workspace -F --filter --package-manager --reporter \
    --changed-since --since --jobs -j ";
/// Commands of cargo itself and of well-known extensions.
const CARGO_COMMANDS: &str = " add bench build b check c clean clippy doc d fetch fix fmt generate-lockfile help init \
    install locate-project login logout metadata miri new nextest owner package pkgid publish read-manifest remove \
    report run r rustc rustdoc search test t tree uninstall update vendor verify-project version yank insta deny \
    audit llvm-cov expand watch udeps machete hack semver-checks release dist shear binstall outdated edit bloat \
    fuzz mutants component criterion flamegraph make tauri leptos ndk lambda ";
/// Programs whose first operand is a file.
const INTERPRETERS: &str = " bash sh zsh fish node python python3 ruby perl php deno tsx ts-node source . bun lua Rscript ";
/// Words before the command.
const PREFIXES: &str =
    " sudo time exec command env npx bunx uv poetry pipenv hatch rye run dotenv -- ";

/// What a line of a shell needs.
pub(super) fn needs_of_line(line: &str) -> Vec<CommandNeed> {
    let line = line.trim().trim_start_matches(['$', '>', '%']).trim();
    if line.starts_with('#') {
        return Vec::new();
    }
    let line = line.split(" #").next().unwrap_or(line);
    let mut needs = Vec::new();
    for command in line.replace("&&", "\n").replace("||", "\n").split(['\n', ';', '|']) {
        let words: Vec<&str> = command
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '\'', '`', '(', ')']))
            .collect();
        let is_assignment = |word: &&&str| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let is_before = |word: &&&str| is_assignment(word) || is_in(PREFIXES, word);
        let skipped = words.iter().take_while(is_before).count();
        if let Some((program, rest)) = words[skipped..].split_first() {
            add_needs(program, rest, &mut needs);
        }
    }
    needs.sort();
    needs.dedup();
    needs
}

/// Whether a text in backticks is a command line rather than a name.
pub(super) fn is_command_line(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    words.next().is_some()
        && (matches!(
            program,
            "npm"
                | "pnpm"
                | "yarn"
                | "bun"
                | "make"
                | "just"
                | "cargo"
                | "uv"
                | "npx"
                | "pytest"
                | "go"
        ) || is_in(INTERPRETERS, program)
            || program.starts_with("./")
            || program.starts_with("scripts/"))
}

fn add_needs(program: &str, rest: &[&str], needs: &mut Vec<CommandNeed>) {
    match program {
        "npm" | "pnpm" | "yarn" | "bun" => needs.extend(package_script(program, rest)),
        "make" => {
            let is_target = |word: &&&str| is_plain_name(word) && !word.contains('=');
            let words = operands(rest, " -C -f -j --directory --file ");
            let targets = words.iter().take_while(is_target);
            needs.extend(targets.map(|word| CommandNeed::MakeTarget((*word).to_owned())));
        }
        "just" => {
            let first = operands(rest, " -f --justfile -d --working-directory ").first().copied();
            let recipe = first.filter(|word| is_plain_name(word));
            needs.extend(recipe.map(|word| CommandNeed::JustRecipe(word.to_owned())));
        }
        "cargo" => {
            let first = rest.iter().find(|word| !word.starts_with(['+', '-']));
            let alias = first.filter(|word| is_plain_name(word) && !is_in(CARGO_COMMANDS, word));
            needs.extend(alias.map(|word| CommandNeed::CargoAlias((*word).to_owned())));
        }
        _ => {}
    }
    if program.contains('/') {
        needs.push(CommandNeed::File(program.to_owned()));
    }
    let mut files = rest.iter().filter(|word| !word.starts_with('-'));
    if is_in(INTERPRETERS, program) {
        let first = files.find(|word| !is_in(" run test ", word));
        let named = first.filter(|word| word.contains(['/', '.']));
        needs.extend(named.map(|word| CommandNeed::File((*word).to_owned())));
    }
    // `tests/test_a.py::test_b` names a file and a test in it.
    let paths = files.map(|word| word.split("::").next().unwrap_or(word));
    let paths = paths.filter(|word| word.contains('/') && !word.contains(['=', ':', '@']));
    needs.extend(paths.map(|word| CommandNeed::File(word.to_owned())));
}

fn package_script(program: &str, rest: &[&str]) -> Option<CommandNeed> {
    let words = operands(rest, VALUE_FLAGS);
    let mut words = words.iter().copied().peekable();
    if words.peek() == Some(&"workspace") {
        // `yarn workspace NAME SCRIPT`
        words.nth(1);
    }
    let first = words.next()?;
    let named = |name: &str, is_explicit| {
        let name = name.to_owned();
        is_plain_name(&name).then_some(CommandNeed::PackageScript { name, is_explicit })
    };
    match first {
        "run" | "run-script" => words.next().and_then(|name| {
            // `bun run FILE` runs a file.
            let is_file = name.contains('/') || (program == "bun" && name.contains('.'));
            if is_file { Some(CommandNeed::File(name.to_owned())) } else { named(name, true) }
        }),
        "test" | "start" if program == "npm" => named(first, true),
        _ if program == "npm" || program == "bun" || is_in(PACKAGE_MANAGER_WORDS, first) => None,
        _ => named(first, false),
    }
}

/// The words that are neither flags nor their values.
fn operands<'w>(words: &[&'w str], value_flags: &str) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut is_value = false;
    for word in words.iter().take_while(|word| **word != "--") {
        if is_value {
            is_value = false;
        } else if word.starts_with('-') {
            is_value = is_in(value_flags, word);
        } else {
            found.push(*word);
        }
    }
    found
}

fn is_in(words: &str, word: &str) -> bool {
    words.contains(&format!(" {word} "))
}

fn is_plain_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-:./".contains(c))
        && !word.ends_with([':', '.'])
}
