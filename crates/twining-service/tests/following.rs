//! Folders on several nodes follow one log, told or not.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tempfile::TempDir;
use twining_model::{Change, Id};
use twining_service::{
    Database, Memory, MemoryOpener, OpenRepositories, RemoteCaller, ServiceError,
};
use twining_store::{Durability, Log, LogBase, NewLine, Store, StoreError, StoreLocation};
use twining_testkit::{ids, records};

use crate::service::TestService;

struct StoreOpener;

struct StoreMemory(Store);

impl MemoryOpener for StoreOpener {
    fn open(&self, folder: &Path, log: Arc<dyn Log>) -> Result<Arc<dyn Memory>, ServiceError> {
        let location = StoreLocation { project: folder.to_path_buf(), ..StoreLocation::default() };
        let store = Store::open(location, ids())?;
        store.use_log(log);
        Ok(Arc::new(StoreMemory(store)))
    }
}

impl Memory for StoreMemory {
    fn store(&self) -> &Store {
        &self.0
    }

    fn call(&self, _: &str, _: Map<String, Value>, _: &RemoteCaller) -> CallToolResult {
        CallToolResult::default()
    }

    fn admit(&self, _: Vec<NewLine>, _: &RemoteCaller) -> Result<Vec<u64>, StoreError> {
        Ok(Vec::new())
    }
}

struct Node {
    folder: TempDir,
    repositories: OpenRepositories,
}

impl Node {
    fn new(database: Database, limit: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().to_path_buf();
        Self {
            folder,
            repositories: OpenRepositories::new(database, Arc::new(StoreOpener), data, limit),
        }
    }

    fn summaries(&self, tenant: &Id, repo: &Id) -> Vec<String> {
        let board = self.folder.path().join(tenant.as_str()).join(repo.as_str());
        let board = std::fs::read_to_string(board.join(".twining/blackboard.jsonl"));
        let board = board.unwrap_or_default();
        let summary = |line: &str| {
            let entry: Value = serde_json::from_str(line).expect("an entry");
            entry["summary"].as_str().expect("a summary").to_owned()
        };
        board.lines().map(summary).collect()
    }
}

fn post(store: &Store, summary: &str) -> Result<(), StoreError> {
    let entry = records::entry(store.ids(), summary);
    store.transact(Durability::Normal, |_| Ok((Change::of_entries(vec![entry.clone()]), ())))
}

#[test]
fn two_nodes_write_one_repository_and_end_equal() {
    let Some(service) = TestService::start() else { return };
    let nodes = [Node::new(service.node(), 4), Node::new(service.node(), 4)];
    let (tenant, repo) = (&service.tenant, &service.repo);
    thread::scope(|scope| {
        for (at, node) in nodes.iter().enumerate() {
            scope.spawn(move || {
                let open = node.repositories.get(tenant, repo).expect("opens");
                for number in 0..15 {
                    let store = open.memory.store();
                    // Planned on a view, so the other node is met again and again.
                    post(store, &format!("{at} {number}")).expect("writes");
                    let decision = records::decision(store.ids(), &format!("{at} {number}"));
                    let change = Change { decisions: vec![decision], ..Change::default() };
                    store
                        .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
                        .expect("decides");
                }
            });
        }
    });
    let boards = nodes.each_ref().map(|node| {
        node.repositories.get(tenant, repo).expect("opens").catch_up().expect("follows");
        node.summaries(tenant, repo)
    });
    assert_eq!(boards[0].len(), 30);
    assert_eq!(boards[0], boards[1]);
    assert_eq!(service.sql("select head from twining.repo"), "60");
}

#[test]
fn a_node_whose_database_was_restored_makes_its_folder_anew() {
    let Some(service) = TestService::start() else { return };
    let (tenant, repo) = (&service.tenant, &service.repo);
    let [running, restarted, other] = [(); 3].map(|()| Node::new(service.node(), 4));
    let open = |node: &Node| {
        let open = node.repositories.get(tenant, repo).expect("opens");
        open.catch_up().expect("follows");
        open
    };
    post(open(&running).memory.store(), "in the backup").expect("posts");
    post(open(&running).memory.store(), "after the backup").expect("posts");
    open(&running);
    open(&restarted);
    let data = restarted.folder;
    drop(restarted.repositories);
    service.sql("delete from twining.log where seq = 2");
    service.sql("update twining.repo set head = 1, planned = 1");
    // The log is as long as before, and another.
    post(open(&other).memory.store(), "after the restore").expect("posts");
    let folder = data.path().to_path_buf();
    let repositories = OpenRepositories::new(service.node(), Arc::new(StoreOpener), folder, 4);
    let restarted = Node { folder: data, repositories };
    open(&restarted);
    let expected = ["in the backup", "after the restore"];
    assert_eq!(restarted.summaries(tenant, repo), expected);
    let until = Instant::now() + Duration::from_secs(30);
    while running.summaries(tenant, repo) != expected {
        assert!(Instant::now() < until, "{:?}", running.summaries(tenant, repo));
        open(&running);
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_read_sees_what_was_acknowledged_on_another_node_before() {
    let Some(service) = TestService::start() else { return };
    // The second hears nothing: it must ask.
    let nodes = [Node::new(service.node(), 4), Node::new(service.deaf_node(), 4)];
    let [first, second] =
        nodes.each_ref().map(|node| node.repositories.get(&service.tenant, &service.repo));
    let (first, second) = (first.expect("opens"), second.expect("opens"));
    for number in 1..=20 {
        post(first.memory.store(), &format!("{number}")).expect("posts");
        second.catch_up().expect("follows");
        assert_eq!(nodes[1].summaries(&service.tenant, &service.repo).len(), number);
    }
}

fn seen_after(service: &TestService, writer: &Database, reader: Database) -> Duration {
    let node = Node::new(reader, 4);
    let _open = node.repositories.get(&service.tenant, &service.repo).expect("opens");
    // Until the node listens.
    thread::sleep(Duration::from_millis(1_500));
    let log = writer.log(&service.tenant, &service.repo);
    let began = Instant::now();
    log.append(LogBase::Any, &[service.line("news")]).expect("appends");
    while node.summaries(&service.tenant, &service.repo).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(5), "not seen");
        thread::sleep(Duration::from_millis(2));
    }
    began.elapsed()
}

#[test]
fn a_node_that_is_told_takes_a_line_in_at_once() {
    let Some(service) = TestService::start() else { return };
    let took = seen_after(&service, &service.node(), service.node());
    assert!(took < Duration::from_millis(600), "{took:?}");
}

#[test]
fn a_node_that_is_not_told_takes_a_line_in_within_a_second_or_so() {
    let Some(service) = TestService::start() else { return };
    let took = seen_after(&service, &service.node(), service.deaf_node());
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}

#[test]
fn t25_forged_notices_do_nothing_and_hide_nothing() {
    let Some(service) = TestService::start() else { return };
    let node = Node::new(service.node(), 4);
    let open = node.repositories.get(&service.tenant, &service.repo).expect("opens");
    thread::sleep(Duration::from_millis(500));
    for payload in ["", ",,:", "x:1", &format!("{}:99999999999", service.repo), &"A".repeat(7_000)]
    {
        service.sql(&format!("select pg_notify('twining', '{payload}')"));
        service.sql(&format!("select pg_notify('twining_revoked', '{payload}')"));
    }
    thread::sleep(Duration::from_millis(200));
    let log = service.node().log(&service.tenant, &service.repo);
    log.append(LogBase::Any, &[service.line("true")]).expect("appends");
    let began = Instant::now();
    // The position is noted after the line.
    let position = || open.memory.store().follower().position().expect("a position");
    while node.summaries(&service.tenant, &service.repo) != ["true"] || position() == 0 {
        assert!(began.elapsed() < Duration::from_secs(3), "not seen");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(position(), 1);
}

#[test]
fn the_least_used_repository_is_closed_and_opens_again_where_it_was() {
    let Some(service) = TestService::start() else { return };
    let admin = service.admin();
    let more = |name: &str| {
        service.wait(admin.add_repository(&service.tenant, name)).expect("a repository").id
    };
    let (second, third) = (more("second"), more("third"));
    let node = Node::new(service.node(), 2);
    let open = |repo: &Id| node.repositories.get(&service.tenant, repo).expect("opens");
    post(open(&service.repo).memory.store(), "kept").expect("posts");
    let first = Arc::downgrade(&open(&service.repo));
    open(&second);
    open(&third);
    assert_eq!(node.repositories.count(), 2);
    // Its follower may be at work.
    let began = Instant::now();
    while first.upgrade().is_some() {
        assert!(began.elapsed() < Duration::from_secs(8), "nobody uses the first");
        thread::sleep(Duration::from_millis(5));
    }
    let again = open(&service.repo);
    assert_eq!(again.memory.store().follower().position().expect("a position"), 1);
    assert_eq!(node.summaries(&service.tenant, &service.repo), ["kept"]);
    let unknown = node.repositories.get(&service.tenant, &service.ids.next());
    assert!(matches!(unknown, Err(ServiceError::NotFound { .. })));
}

#[test]
fn a_folder_that_is_ahead_of_a_restored_database_is_made_again() {
    let Some(service) = TestService::start() else { return };
    let node = Node::new(service.node(), 4);
    let open = || node.repositories.get(&service.tenant, &service.repo).expect("opens");
    for summary in ["one", "two"] {
        post(open().memory.store(), summary).expect("posts");
    }
    // A backup of before the second line.
    service.sql("delete from twining.log where seq = 2; update twining.repo set head = 1");
    let data = node.folder.path().to_path_buf();
    let Node { folder, repositories } = node;
    drop(repositories);
    let repositories = OpenRepositories::new(service.node(), Arc::new(StoreOpener), data, 4);
    let node = Node { folder, repositories };
    node.repositories
        .get(&service.tenant, &service.repo)
        .expect("opens")
        .catch_up()
        .expect("follows");
    assert_eq!(node.summaries(&service.tenant, &service.repo), ["one"]);
}

#[test]
fn a_folder_of_another_start_of_the_machine_is_made_again() {
    let Some(service) = TestService::start() else { return };
    let node = Node::new(service.node(), 4);
    let repository = || node.repositories.get(&service.tenant, &service.repo).expect("opens");
    post(repository().memory.store(), "one").expect("posts");
    let folder = node.folder.path().join(service.tenant.as_str()).join(service.repo.as_str());
    // As a power cut may leave it: the position is on the device, and the line is not.
    let board = folder.join(".twining/blackboard.jsonl");
    std::fs::write(&board, "").expect("writes");
    std::fs::write(folder.join("boot"), "another").expect("writes");
    let Node { folder: kept, repositories } = node;
    drop(repositories);
    let data = kept.path().to_path_buf();
    let repositories = OpenRepositories::new(service.node(), Arc::new(StoreOpener), data, 4);
    let node = Node { folder: kept, repositories };
    let open = node.repositories.get(&service.tenant, &service.repo).expect("opens");
    open.catch_up().expect("follows");
    assert_eq!(node.summaries(&service.tenant, &service.repo), ["one"]);
}
