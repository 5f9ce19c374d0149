//! Vectors are a cache: whatever happens to their file, nothing is lost and what
//! is missing is made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use twining_testcases::each;

use twining_embed::Model;
use twining_store::disk::{DiskOp, Fault, Probe, hash_of};

use super::{LOGGED_OUT, about_sessions, ask, finding, found};
use crate::search::embedding_worker::{EmbeddingBacklog, EmbeddingJob};
use crate::search::{EmbeddingIndex, EmbeddingThread};
use crate::testing::{Project, caller, choice};
use crate::{ArchiveInput, AssembleInput, Engine, SearchMode};

const HEAD: usize = 24;
const ROW: usize = 400;

fn file(project: &Project) -> PathBuf {
    static BUILT_IN: LazyLock<u64> =
        LazyLock::new(|| Model::built_in().expect("the packed model is whole").identity());
    file_of(project, *BUILT_IN)
}

fn file_of(project: &Project, model: u64) -> PathBuf {
    project.path().join(format!(".twining/local/vectors-{model:016x}.bin"))
}

fn rows_in(file: &Path) -> usize {
    (fs::read(file).expect("there").len() - HEAD) / ROW
}

/// The next version of the model, whose name ends in another digit.
fn next_model() -> Arc<Model> {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../twining-embed/model/minilm-history.int8.bin");
    let mut bytes = fs::read(path).expect("there");
    *bytes.last_mut().expect("has bytes") += 1;
    let checksum = hash_of(&bytes[64..]);
    bytes[24..32].copy_from_slice(&checksum.to_le_bytes());
    let model = Model::from_bytes(bytes).expect("the checksum fits");
    assert_eq!(model.name(), "minilm-history 2");
    Arc::new(model)
}

fn waiting(engine: &Engine) -> u64 {
    engine.embedding_worker().scan().expect("looks").waiting
}

fn make(engine: &Engine) {
    engine.embedding_worker().make_all(&mut |_| true).expect("makes them");
}

fn is_found_by_meaning(engine: &Engine) -> bool {
    found(&ask(engine, LOGGED_OUT))
        .iter()
        .any(|summary| summary.starts_with("users are logged out"))
}

fn is_found_by_words(engine: &Engine) -> bool {
    found(&ask(engine, "session token"))[0].starts_with("users are logged out")
}

/// Damages the file, and sees a new process and the one that was there mend it.
fn is_mended(damage: impl Fn(&Project)) {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    damage(&project);
    let after = project.another_engine_with_model();
    assert!(is_found_by_words(&after), "words answer whatever the vectors are");
    make(&after);
    assert_eq!(waiting(&after), 0);
    assert!(is_found_by_meaning(&after));
    make(&project.engine);
    assert!(is_found_by_meaning(&project.engine), "the process that was there");
    let next = project.another_engine_with_model();
    assert_eq!(waiting(&next), 0, "what was made again is kept");
    assert!(is_found_by_meaning(&next));
}

#[test]
fn an_index_built_anew_costs_no_vector() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    let before = fs::read(file(&project)).expect("there");
    project.engine.store().rebuild().expect("rebuilds");
    assert_eq!(waiting(&project.engine), 0);
    fs::remove_file(project.path().join(".twining/local/index.db")).expect("removes");
    let after = project.another_engine_with_model();
    assert_eq!(waiting(&after), 0);
    make(&after);
    assert!(is_found_by_meaning(&after));
    assert_eq!(fs::read(file(&project)).expect("there"), before);
}

#[test]
fn a_torn_tail_is_passed_over_and_made_again() {
    is_mended(|project| {
        let bytes = fs::read(file(project)).expect("there");
        fs::write(file(project), &bytes[..bytes.len() - 123]).expect("writes");
    });
}

#[test]
fn a_half_row_behind_the_last_is_cut_off_by_the_next_writer() {
    is_mended(|project| {
        let mut bytes = fs::read(file(project)).expect("there");
        bytes.extend([7; 55]);
        fs::write(file(project), bytes).expect("writes");
        project.post("finding", "one more to write");
    });
}

#[test]
fn rows_with_flipped_bytes_are_passed_over_and_made_again() {
    each([HEAD, HEAD + 9, HEAD + ROW + 100, HEAD + 3 * ROW - 1], |offset| {
        is_mended(|project| {
            let mut bytes = fs::read(file(project)).expect("there");
            bytes[offset] ^= 0x10;
            fs::write(file(project), bytes).expect("writes");
            assert_eq!(waiting(&project.another_engine_with_model()), 1, "one row is damaged");
        });
    });
}

#[test]
fn a_damaged_head_another_model_an_empty_file_and_noise_cost_every_vector_and_no_more() {
    each(
        [
            |bytes: &mut Vec<u8>| bytes[0] ^= 1,
            |bytes: &mut Vec<u8>| bytes[9] ^= 1,
            |bytes: &mut Vec<u8>| bytes.truncate(HEAD - 3),
            |bytes: &mut Vec<u8>| bytes.clear(),
            |bytes: &mut Vec<u8>| {
                bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
            },
        ],
        |damage| {
            is_mended(|project| {
                let mut bytes = fs::read(file(project)).expect("there");
                damage(&mut bytes);
                fs::write(file(project), bytes).expect("writes");
                assert_eq!(waiting(&project.another_engine_with_model()), 3);
            });
        },
    );
}

#[test]
fn a_file_that_was_deleted_is_made_again_by_a_new_process() {
    is_mended(|project| fs::remove_file(file(project)).expect("removes"));
}

#[test]
fn a_file_that_was_deleted_is_made_again_by_the_process_that_made_it() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    fs::remove_file(file(&project)).expect("removes");
    assert_eq!(ask(&project.engine, "session token").mode, SearchMode::Keyword);
    project.make_vectors();
    assert!(is_found_by_meaning(&project.engine));
    assert_eq!(waiting(&project.another_engine_with_model()), 0);
}

#[test]
fn the_whole_local_folder_may_go_while_a_process_runs() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    fs::remove_dir_all(project.path().join(".twining/local")).expect("removes");
    assert!(is_found_by_words(&project.engine));
    project.make_vectors();
    assert!(is_found_by_meaning(&project.engine));
}

#[test]
fn what_was_stopped_in_the_middle_is_resumed_by_the_same_process_and_by_the_next() {
    let project = Project::with_model();
    about_sessions(&project);
    for n in 0..37 {
        project.post("finding", &format!("shard {n} is cold"));
    }
    let stop_after = |engine: &Engine, batches: usize| {
        let mut asked = 0;
        let mut go_on = |_| {
            asked += 1;
            asked <= batches
        };
        engine.embedding_worker().make_all(&mut go_on).expect("stops");
        waiting(engine)
    };
    let left = stop_after(&project.engine, 1);
    assert!(left > 0 && left < 40, "{left}");
    assert!(!is_found_by_meaning(&project.engine), "the newest come first");
    let next = project.another_engine_with_model();
    assert_eq!(waiting(&next), left, "the next process finds the same to do");
    assert!(stop_after(&next, 1) < left);
    make(&project.engine);
    assert_eq!((waiting(&project.engine), waiting(&next)), (0, 0));
    assert!(is_found_by_meaning(&project.engine));
    assert_eq!(rows_in(&file(&project)), 40, "each text was embedded once");
}

#[test]
fn of_two_processes_one_makes_the_vectors_and_the_other_sees_them() {
    let project = Project::with_model();
    let other = project.another_engine_with_model();
    about_sessions(&project);
    assert_eq!((waiting(&project.engine), waiting(&other)), (3, 3));
    let mut asked_of_the_other = 0;
    let mut go_on = |_| {
        let mut go_on = |_| {
            asked_of_the_other += 1;
            true
        };
        other.embedding_worker().make_all(&mut go_on).expect("leaves it alone");
        true
    };
    project.engine.embedding_worker().make_all(&mut go_on).expect("makes them");
    assert_eq!(asked_of_the_other, 0, "it was not its turn");
    assert!(is_found_by_meaning(&other));
    assert_eq!(waiting(&other), 0);
    project.post("finding", "now it is the turn of the other");
    make(&other);
    assert_eq!((waiting(&project.engine), waiting(&other)), (0, 0));
}

#[test]
fn an_archived_entry_is_not_found_by_its_meaning() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    project.clock.advance_days(1);
    let input =
        ArchiveInput { before: Some(project.clock.now().to_string()), ..ArchiveInput::default() };
    project.engine.archive(&caller("ada"), &input).expect("archives");
    assert!(!is_found_by_meaning(&project.engine));
    make(&project.engine);
    assert!(!is_found_by_meaning(&project.engine));
}

#[test]
fn a_text_edited_by_hand_is_embedded_again() {
    let project = Project::with_model();
    project.post("finding", "the release notes are generated from commit messages");
    project.make_vectors();
    let mut entry = project.board().remove(0);
    entry.summary = "users are logged out when their session token expires".into();
    project.write(
        "blackboard.jsonl",
        &format!("{}\n", serde_json::to_string(&entry).expect("is JSON")),
    );
    assert_eq!(waiting(&project.engine), 1);
    project.make_vectors();
    assert!(is_found_by_meaning(&project.engine));
}

/// A disk without space for vectors while it is full.
struct FullDisk {
    full: AtomicBool,
    fault: Fault,
}

impl Probe for FullDisk {
    fn before(&self, op: DiskOp, name: &str) -> Fault {
        // A file of vectors is begun under another name.
        let of_vectors = name.contains("vectors-") || name.contains("tmp-");
        let refused = op == DiskOp::Write && of_vectors && self.full.load(Ordering::SeqCst);
        if refused { self.fault } else { Fault::None }
    }
}

#[test]
fn a_full_disk_costs_time_and_no_vector() {
    const ENOSPC: i32 = 28;
    each([Fault::Fail(ENOSPC), Fault::Short(7, ENOSPC), Fault::Short(ROW + 30, ENOSPC)], |fault| {
        let disk = Arc::new(FullDisk { full: AtomicBool::new(false), fault });
        let project = Project::with_model_on(disk.clone());
        project.post("finding", "the release notes are generated from commit messages");
        project.make_vectors();
        disk.full.store(true, Ordering::SeqCst);
        about_sessions(&project);
        assert!(project.engine.embedding_worker().make_all(&mut |_| true).is_err(), "{fault:?}");
        assert!(is_found_by_words(&project.engine), "{fault:?}");
        assert!(is_found_by_words(&project.another_engine_with_model()), "{fault:?}");
        project.engine.post(&caller("ada"), &finding("writing goes on")).expect("posts");
        disk.full.store(false, Ordering::SeqCst);
        project.make_vectors();
        assert!(
            is_found_by_meaning(&project.engine),
            "{fault:?}: the same process makes up for it"
        );
        assert_eq!(
            waiting(&project.another_engine_with_model()),
            0,
            "{fault:?}: and another sees it"
        );
    });
}

#[test]
fn a_full_disk_from_the_first_vector_on_is_survived() {
    let disk = Arc::new(FullDisk { full: AtomicBool::new(false), fault: Fault::Fail(28) });
    let project = Project::with_model_on(disk.clone());
    about_sessions(&project);
    disk.full.store(true, Ordering::SeqCst);
    assert!(project.engine.embedding_worker().make_all(&mut |_| true).is_err());
    assert_eq!(ask(&project.engine, "session token").mode, SearchMode::Keyword);
    disk.full.store(false, Ordering::SeqCst);
    project.make_vectors();
    assert!(is_found_by_meaning(&project.engine));
}

#[test]
fn a_model_that_cannot_be_loaded_leaves_everything_else_working() {
    let project = Project::new();
    about_sessions(&project);
    let store = Arc::clone(project.engine.store());
    let engine = Engine::with_model(store, Box::new(|| Err("the weights are damaged".to_owned())));
    make(&engine);
    let outcome = ask(&engine, "session token");
    assert_eq!((outcome.mode, outcome.results.len()), (SearchMode::Keyword, 1));
    let warned = engine.status().expect("takes stock").warnings;
    let warning =
        warned.iter().find(|warning| warning.code == "no_embeddings").expect("it is said");
    assert!(
        warning.message.contains("the weights are damaged") && !warning.hint.is_empty(),
        "{warning:?}"
    );
}

#[test]
fn settings_that_want_no_embeddings_get_none() {
    let project = Project::with_model();
    about_sessions(&project);
    project.write("config.yml", "version: 1\nsearch: {embeddings: false}\n");
    make(&project.engine);
    assert!(!file(&project).exists(), "vectors were made that nobody wants");
    assert_eq!(ask(&project.engine, "session token").mode, SearchMode::Keyword);
    assert!(
        project
            .engine
            .status()
            .expect("takes stock")
            .warnings
            .iter()
            .all(|warning| warning.code != "no_embeddings")
    );
}

#[test]
fn a_question_that_helps_to_make_vectors_is_answered_though_the_disk_is_full() {
    let disk = Arc::new(FullDisk { full: AtomicBool::new(false), fault: Fault::Fail(28) });
    let Project { engine, .. } =
        &Project::with_model_on(disk.clone()).waiting_for_vectors(Duration::from_millis(50));
    engine
        .post(&caller("ada"), &finding("users are logged out when their session token expires"))
        .expect("posts");
    disk.full.store(true, Ordering::SeqCst);
    let mut go_on = |_| {
        assert!(is_found_by_words(engine));
        false
    };
    engine.embedding_worker().make_all(&mut go_on).expect("stops");
}

#[test]
fn something_else_in_the_place_of_the_vectors_leaves_words_to_answer() {
    let project = Project::with_model();
    about_sessions(&project);
    fs::create_dir(file(&project)).expect("makes a folder");
    let after = project.another_engine_with_model();
    assert!(is_found_by_words(&after));
    fs::remove_dir(file(&project)).expect("removes");
    std::os::unix::fs::symlink("/etc/hostname", file(&project)).expect("links");
    assert!(is_found_by_words(&project.another_engine_with_model()));
}

#[test]
fn after_a_clone_a_question_is_answered_by_words_at_once_and_says_how_much_is_missing() {
    let project = Project::with_model().waiting_for_vectors(Duration::from_secs(60));
    about_sessions(&project);
    for n in 0..60 {
        project.post("finding", &format!("shard {n} is cold"));
    }
    let outcome = ask(&project.engine, "session token");
    assert_eq!((outcome.mode, outcome.not_yet_embedded), (SearchMode::Keyword, 63));
    let input = AssembleInput {
        task: "session token".to_owned(),
        scope: "project".to_owned(),
        ..AssembleInput::default()
    };
    let context = project.engine.assemble(&caller("ada"), &input).expect("assembles");
    assert_eq!((context.mode, context.not_yet_embedded), (SearchMode::Keyword, 63));
    assert!(!file(&project).exists(), "what cannot be finished is not begun while somebody waits");
    project.make_vectors();
    let outcome = ask(&project.engine, "session token");
    assert_eq!((outcome.mode, outcome.not_yet_embedded), (SearchMode::Hybrid, 0));
}

#[test]
fn a_question_makes_the_few_vectors_that_a_write_left_missing() {
    let project = Project::with_model().waiting_for_vectors(Duration::from_secs(60));
    project.write("config.yml", "version: 1\nsearch: {wait_ms: 30000}\n");
    about_sessions(&project);
    assert!(is_found_by_meaning(&project.engine));
    assert_eq!(waiting(&project.another_engine_with_model()), 0, "and keeps them");
}

#[test]
fn a_record_without_vectors_counts_by_its_words_as_much_as_it_would_if_none_had_any() {
    let project = Project::with_model();
    for n in 0..5 {
        project.post("finding", &format!("the session token of client {n} is kept in a cookie"));
    }
    project.make_vectors();
    project.post("finding", "a session token is rotated on every request");
    let outcome = ask(&project.engine, "rotated session token");
    assert_eq!(outcome.mode, SearchMode::Hybrid);
    assert_eq!(found(&outcome)[0], "a session token is rotated on every request");
}

#[test]
fn what_was_just_said_is_embedded_first_then_decisions_then_older_entries() {
    let project = Project::with_model();
    for n in 0..250 {
        project.post("finding", &format!("shard {n} is cold"));
    }
    for n in 0..3 {
        project.decide(&choice("data", "src/", &format!("shard {n} moves")));
    }
    let mut backlog = EmbeddingBacklog::default();
    let embedding_index = EmbeddingIndex::new(Box::new(|| {
        Model::built_in().map(Arc::new).map_err(|damaged| damaged.to_string())
    }));
    backlog.scan(project.engine.store(), &embedding_index).expect("looks");
    let mut kinds: Vec<bool> = backlog
        .take(usize::MAX)
        .into_iter()
        .map(|job| matches!(job, EmbeddingJob::Decision(..)))
        .collect();
    kinds.dedup();
    assert_eq!(kinds, [false, true, false]);
}

#[test]
fn after_a_change_of_the_model_words_answer_until_the_background_made_the_vectors_again() {
    let project = Project::with_model();
    about_sessions(&project);
    for n in 0..60 {
        project.post("finding", &format!("shard {n} is cold"));
    }
    project.make_vectors();
    let before = fs::read(file(&project)).expect("there");
    let model = next_model();
    let identity = model.identity();
    let after = project
        .another_engine_with(move || Ok(Arc::clone(&model)))
        .waiting_for_vectors(Duration::from_secs(60));
    let outcome = ask(&after, "session token");
    assert_eq!((outcome.mode, outcome.not_yet_embedded), (SearchMode::Keyword, 63));
    assert!(is_found_by_words(&after));
    assert!(!file_of(&project, identity).exists(), "nobody waited for a vector");
    let background = EmbeddingThread::start(Arc::clone(after.embedding_worker()));
    while waiting(&after) > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(background);
    let outcome = ask(&after, LOGGED_OUT);
    assert_eq!((outcome.mode, outcome.not_yet_embedded), (SearchMode::Hybrid, 0));
    assert!(is_found_by_meaning(&after));
    assert_eq!(fs::read(file(&project)).expect("there"), before, "the others are as they were");
}

#[test]
fn two_models_on_one_folder_each_make_every_vector_once() {
    let project = Project::with_model();
    let model = next_model();
    let identity = model.identity();
    let next = project.another_engine_with(move || Ok(Arc::clone(&model)));
    about_sessions(&project);
    let files = [file(&project), file_of(&project, identity)];
    let head = |file: &PathBuf| fs::read(file).expect("there")[..HEAD].to_vec();
    make(&project.engine);
    make(&next);
    let heads = files.each_ref().map(head);
    for n in 0..3 {
        project.post("finding", &format!("shard {n} is cold"));
        assert_eq!((waiting(&project.engine), waiting(&next)), (1, 1));
        make(&project.engine);
        assert_eq!((waiting(&project.engine), waiting(&next)), (0, 1));
        make(&next);
        assert_eq!((waiting(&project.engine), waiting(&next)), (0, 0));
    }
    assert!(is_found_by_meaning(&project.engine) && is_found_by_meaning(&next));
    assert_eq!(files.each_ref().map(head), heads, "neither file was begun again");
    assert_eq!(files.each_ref().map(|file| rows_in(file)), [6, 6]);
}
