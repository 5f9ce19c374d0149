//! What holds where nobody said otherwise: two roles, six gate profiles, three
//! modes.

use crate::governance::gates::Percent;
use crate::governance::modes::Ceremony;
use crate::governance::policy::patch::{Cell, GatePatch, ListPatch, ModePatch, Patch, RolePatch};
use twining_guard::policy::source::{Source, Sourced};

/// The lowest layer.
pub(crate) fn defaults() -> Patch {
    Patch {
        roles: [("player".to_owned(), player()), ("coach".to_owned(), coach())].into(),
        gates: [
            ("scaffolding".to_owned(), gates(&[(1, 10, None, None, false)])),
            (
                "feature".to_owned(),
                gates(&[(1, 3, Some(50), Some(0.70), true), (4, 6, Some(60), Some(0.80), true), (7, 10, Some(70), Some(0.85), true)]),
            ),
            ("testing".to_owned(), gates(&[(1, 10, None, Some(0.90), true)])),
            ("documentation".to_owned(), gates(&[(1, 10, None, None, false)])),
        ]
        .into(),
        modes: [("direct".to_owned(), direct()), ("task_work".to_owned(), task_work()), ("autobuild".to_owned(), autobuild())].into(),
        confirmed_overrides: false,
    }
}

/// What a task type that a project adds asks for where it says nothing: a new
/// word must not be a way around the gates.
pub(crate) fn strict() -> Cell {
    cell(Some(60), Some(0.80), true)
}

fn player() -> RolePatch {
    RolePatch {
        must_do: listed(&[
            "Write the code that meets the acceptance criteria",
            "Read the implementation plan first, and follow it",
            "Write tests for everything you implement",
            "Report what blocks you, with the evidence",
        ]),
        must_not_do: listed(&[
            "Judge the quality gates: that is for the coach",
            "Make an architectural decision without a recorded decision behind it",
            "Change quality profiles or thresholds",
            "Wait for a person in the middle of a feature: you work on your own",
        ]),
        ask_before: listed(&[
            "Leaving the architecture of the implementation plan",
            "Adding or changing external dependencies",
            "Leaving out an acceptance criterion",
        ]),
        escalate_when: listed(&[]),
    }
}

fn coach() -> RolePatch {
    RolePatch {
        must_do: listed(&[
            "Hold the implementation against each acceptance criterion",
            "Run the quality gates yourself: tests, coverage, architecture",
            "Say exactly what to change, so that the player can act on it",
            "Keep the status of every acceptance criterion",
        ]),
        must_not_do: listed(&[
            "Write implementation code",
            "Edit the implementation yourself",
            "Decide how the player implements it",
            "Change acceptance criteria while the task runs",
        ]),
        ask_before: listed(&[]),
        escalate_when: listed(&[
            "Tests still fail after three attempts",
            "The implementation breaks the agreed architecture",
            "An acceptance criterion cannot be met as it is written",
        ]),
    }
}

fn direct() -> ModePatch {
    ModePatch {
        when_to_use: listed(&["Simple file operations", "Changes to configuration", "Updates to documentation"]),
        pitfalls: listed(&["Look at git status before you begin", "It is the wrong tool for a complex implementation"]),
        ..mode(Ceremony::Minimal, (1, 3), "inline", "{worktree_path}/", "git_check_first")
    }
}

fn task_work() -> ModePatch {
    ModePatch {
        when_to_use: listed(&["Feature work that has to pass quality gates", "Changes across several files"]),
        pitfalls: listed(&[
            "The implementation plan has to exist before the work starts",
            "Start it through the SDK's query call, not as a subprocess",
            "Paths carry the feature's worktree id, not the task's",
        ]),
        ..mode(Ceremony::Standard, (3, 7), "sdk_query", ".guardkit/worktrees/{feature_id}/", "resume_from_checkpoint")
    }
}

fn autobuild() -> ModePatch {
    ModePatch {
        when_to_use: listed(&["Features of several tasks, with a player and a coach that check each other"]),
        pitfalls: listed(&["It needs a feature plan to work from", "Keep your hands off the files while it runs"]),
        ..mode(Ceremony::Full, (5, 10), "orchestrated", ".guardkit/worktrees/{feature_id}/", "resume_from_checkpoint")
    }
}

fn mode(ceremony: Ceremony, range: (u8, u8), invocation: &str, location: &str, recovery: &str) -> ModePatch {
    ModePatch {
        ceremony_level: Some(sourced(ceremony)),
        complexity_range: Some(sourced(range)),
        invocation_method: Some(sourced(invocation.to_owned())),
        result_location_pattern: Some(sourced(location.to_owned())),
        state_recovery_strategy: Some(sourced(recovery.to_owned())),
        ..ModePatch::default()
    }
}

/// A range, the architecture threshold, the coverage threshold, and whether tests
/// are wanted; what has no threshold is not required.
type Profile = (u8, u8, Option<u8>, Option<f64>, bool);

fn gates(profiles: &[Profile]) -> GatePatch {
    let mut gate = GatePatch::default();
    for &(low, high, arch, coverage, tests) in profiles {
        gate.say(low, high, &cell(arch, coverage, tests));
    }
    gate
}

fn cell(arch: Option<u8>, coverage: Option<f64>, tests: bool) -> Cell {
    Cell {
        arch_review_required: Some(sourced(arch.is_some())),
        arch_review_threshold: arch.map(sourced),
        coverage_required: Some(sourced(coverage.is_some())),
        coverage_threshold: coverage.and_then(Percent::read).map(sourced),
        tests_required: Some(sourced(tests)),
        tests_must_pass: Some(sourced(true)),
    }
}

fn listed(items: &[&str]) -> ListPatch {
    ListPatch { replaced: Some(items.iter().map(|item| sourced((*item).to_owned())).collect()), added: Vec::new() }
}

fn sourced<T>(value: T) -> Sourced<T> {
    Sourced { value, source: Source::DEFAULT }
}
