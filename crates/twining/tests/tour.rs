//! The tour, from outside.

use twining_testcases::each;

use crate::common::Project;

#[test]
fn the_tour_plays_to_its_end() {
    let project = Project::new();
    let tour = project.run(&["tour"]);
    assert_eq!(tour.code, 0, "{tour:?}");
    each(
        [
            "ada",
            "ben",
            "conflicts with",
            "contested",
            "deny",
            "[tested-needs-evidence]",
            "no rule applies",
            "merges them line by line: conflict",
            "merges them with Twining's driver: clean",
            "logout-service, token-issuer",
            "twining init",
        ],
        |words| {
            assert!(tour.stdout.contains(words), "{words}: {}", tour.stdout);
        },
    );
    assert!(!project.path().join(".twining").exists(), "the tour plays elsewhere");
    assert!(!tour_folder(&tour.stdout).exists(), "the tour removes its repository");
}

#[test]
fn a_tour_that_is_kept_leaves_a_repository_with_something_to_settle() {
    let project = Project::new();
    let tour = project.run(&["tour", "--keep"]);
    assert_eq!(tour.code, 0, "{tour:?}");
    let kept = tour_folder(&tour.stdout);
    let waiting = project.run(&["waiting", "--json", "--project", &kept.display().to_string()]);
    let waiting: serde_json::Value = serde_json::from_str(&waiting.stdout).expect("is JSON");
    std::fs::remove_dir_all(&kept).expect("the repository was kept");
    assert_eq!(waiting["items"][0]["kind"], "contested", "{waiting}");
}

/// Where a tour said that it plays.
fn tour_folder(said: &str) -> std::path::PathBuf {
    let line = said.lines().find_map(|line| line.split_once("The throwaway repository is in "));
    line.expect("the tour says where it plays").1.trim().into()
}
