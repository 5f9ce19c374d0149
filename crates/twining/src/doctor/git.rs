//! Our git configuration, and whether it works: versions of each of our files are merged in a
//! throwaway repository, by the driver as configured here.

use std::fs;
use std::path::Path;

use twining_store::git::Git;

use super::program::{DoctorCheck, Health};
use super::program::{this_version, version_of};
use crate::init;
use crate::merge_driver::{DRIVERS, MergeDriver};
use crate::program_path;
use crate::project::Project;

/// A file in three versions, and what a merge of them must hold.
struct TrialMerge {
    kind: &'static str,
    file: &'static str,
    versions: [&'static str; 3],
    holds: [&'static str; 2],
}

/// One for each driver. Git alone takes every one of them for a conflict.
const TRIALS: [TrialMerge; 5] = [
    TrialMerge {
        kind: "lines",
        file: ".twining/blackboard.jsonl",
        versions: [
            "{\"id\":\"a\"}\n",
            "{\"id\":\"a\"}\n{\"id\":\"left\"}\n",
            "{\"id\":\"a\"}\n{\"id\":\"right\"}\n",
        ],
        holds: ["left", "right"],
    },
    TrialMerge {
        kind: "array",
        file: ".twining/graph/entities.json",
        versions: [
            "[\n]\n",
            "[\n {\"id\":\"left\",\"name\":\"l\"}\n]\n",
            "[\n {\"id\":\"right\",\"name\":\"r\"}\n]\n",
        ],
        holds: ["left", "right"],
    },
    TrialMerge {
        kind: "decision",
        file: ".twining/decisions/01JZZZZZZZZZZZZZZZZZZZZZZZ.json",
        versions: [
            "{\n  \"id\": \"01JZZZZZZZZZZZZZZZZZZZZZZZ\",\n  \"commit_hashes\": []\n}\n",
            "{\n  \"id\": \"01JZZZZZZZZZZZZZZZZZZZZZZZ\",\n  \"commit_hashes\": [\"1eff\"]\n}\n",
            "{\n  \"id\": \"01JZZZZZZZZZZZZZZZZZZZZZZZ\",\n  \"commit_hashes\": [\"214\"]\n}\n",
        ],
        holds: ["1eff", "214"],
    },
    TrialMerge {
        kind: "features",
        file: ".twining/features.json",
        versions: [
            "{\n  \"features\": [\n    {\"id\": \"F1\"}\n  ]\n}\n",
            "{\n  \"features\": [\n    {\"id\": \"F1\"},\n    {\"id\": \"left\"}\n  ]\n}\n",
            "{\n  \"features\": [\n    {\"id\": \"F1\"},\n    {\"id\": \"right\"}\n  ]\n}\n",
        ],
        holds: ["left", "right"],
    },
    TrialMerge {
        kind: "knowledge",
        file: ".twining/knowledge.dot",
        versions: [
            "digraph k {\n  a [type=\"component\"];\n}\n",
            "digraph k {\n  a [type=\"component\"];\n  left [type=\"component\"];\n}\n",
            "digraph k {\n  a [type=\"component\"];\n  right [type=\"component\"];\n}\n",
        ],
        holds: ["left", "right"],
    },
];

/// Looks at git's part.
pub(super) fn checks(project: &Project) -> Vec<DoctorCheck> {
    if project.history.shape().is_none() {
        return Vec::new();
    }
    let reported = match init::git_state(project) {
        Ok(reported) => reported,
        Err(problem) => return vec![DoctorCheck::failed("git", &problem)],
    };
    if !reported.faults.is_empty() {
        let fault = |words: &String| DoctorCheck::fail("git", words.clone()).hinted(REPAIR_HINT);
        return reported.faults.iter().map(fault).collect();
    }
    let Some(program) = reported.program else {
        let message = format!(
            "git is not set up for Twining's merge drivers and hooks; twining init would change {}",
            reported.drift.join(", ")
        );
        return vec![DoctorCheck::warn("git", message).hinted(REPAIR_HINT)];
    };
    let started = match started(&program, &project.located.checkout) {
        Ok(started) => started,
        Err(check) => return vec![check],
    };
    let mut checks: Vec<DoctorCheck> = started.into_iter().collect();
    if !reported.drift.is_empty() {
        let message = format!(
            "git's settings for Twining are out of date; twining init would change {}",
            reported.drift.join(", ")
        );
        checks.push(DoctorCheck::warn("git", message).hinted(REPAIR_HINT));
        return checks;
    }
    checks.extend(reported.notes.iter().map(|note| DoctorCheck::warn("git", note.clone())));
    let in_place = if reported.notes.is_empty() { "drivers and hooks" } else { "drivers" };
    checks.push(match tried(&TRIALS, &program) {
        Ok(failed) if failed.is_empty() => {
            let message = format!(
                "{in_place} are installed and start {program}; {} trial merges succeeded",
                TRIALS.len()
            );
            DoctorCheck::ok("git", message)
        }
        Ok(failed) => DoctorCheck::fail(
            "git",
            format!("a trial merge failed with the merge driver for {}", failed.join(", ")),
        )
        .hinted(format!(
            "{program} may be older than this program; twining doctor --fix makes git start this one"
        )),
        Err(why) => DoctorCheck::not_checked("git", format!("no trial merge could be run: {why}")),
    });
    checks
}

/// What mends git's part.
const REPAIR_HINT: &str = "twining init, or twining doctor --fix, updates git's settings";

/// Checks that git starts this program. Returns a finding if it is another; an error if it must not
/// or cannot be tried.
fn started(program: &str, project: &Path) -> Result<Option<DoctorCheck>, DoctorCheck> {
    let ill = |finding: Health, words: String| {
        DoctorCheck::new("git", finding, words).hinted(REPAIR_HINT)
    };
    let path = Path::new(program);
    if !path.is_absolute() {
        let words = format!(
            "git starts `{program}` by name, so the first program of that name on PATH runs as merge driver and commit hook"
        );
        return Err(ill(Health::Warn, words));
    }
    if !path.is_file() {
        return Err(ill(
            Health::Fail,
            format!(
                "git is set to start {program}, which does not exist: merges fail, and commits are not checked"
            ),
        ));
    }
    if std::env::current_exe().is_ok_and(|here| program_path::is_same(path, &here)) {
        return Ok(None);
    }
    if let Err(why) = program_path::outside(program, project) {
        return Err(ill(Health::Fail, format!("git starts a different program: {why}")));
    }
    match version_of(path) {
        Ok(reported) if reported == this_version() => Ok(Some(
            DoctorCheck::ok(
                "git",
                format!("git starts {program}, another copy of the same version"),
            )
            .hinted(REPAIR_HINT),
        )),
        Ok(reported) => Ok(Some(ill(
            Health::Warn,
            format!("git starts {program}, which reports `{reported}`, not `{}`", this_version()),
        ))),
        Err(why) => Err(ill(
            Health::Fail,
            format!("git is set to start {program}, which cannot be started: {why}"),
        )),
    }
}

/// Merges all of them at once in a throwaway repository; the kinds that failed.
fn tried(trials: &[TrialMerge], program: &str) -> Result<Vec<&'static str>, String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let git = Git::at(place.path());
    let step = |words: &[&str]| match git.run_in_throwaway(words) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("git {} failed", words.first().unwrap_or(&""))),
        Err(error) => Err(error.to_string()),
    };
    step(&["init", "-q"])?;
    for driver in DRIVERS {
        step(&["config", &format!("merge.{}.driver", driver.name()), &driver.command(program)])?;
    }
    let attributes: String = DRIVERS
        .iter()
        .flat_map(|driver: &MergeDriver| {
            driver.files.iter().map(move |file| format!("{file} merge={}\n", driver.name()))
        })
        .collect();
    write(&place.path().join(".gitattributes"), &attributes)?;
    let version = |number: usize| {
        trials
            .iter()
            .try_for_each(|trial| write(&place.path().join(trial.file), trial.versions[number]))
    };
    let commit =
        |name: &str| step(&["add", "-A", "-f"]).and_then(|()| step(&["commit", "-q", "-m", name]));
    version(0)?;
    commit("base")?;
    step(&["branch", "right"])?;
    version(1)?;
    commit("left")?;
    step(&["checkout", "-q", "right"])?;
    version(2)?;
    commit("right")?;
    // The files show their conflicts, one by one.
    let _ = git
        .run_in_throwaway(&["merge", "-q", "-m", "both", "-"])
        .map_err(|error| error.to_string())?;
    let well = |trial: &&TrialMerge| {
        let text = fs::read_to_string(place.path().join(trial.file)).unwrap_or_default();
        trial.holds.iter().all(|held| text.contains(held)) && !text.contains("<<<<<<<")
    };
    Ok(trials.iter().filter(|trial| !well(trial)).map(|trial| trial.kind).collect())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(file, text)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn every_driver_has_its_trial() {
        each(DRIVERS, |driver| {
            assert!(TRIALS.iter().any(|trial| trial.kind == driver.kind), "{}", driver.kind);
        });
    }
}
