//! The page and the terminal: how fast `twining ui` starts and tells, what it costs while nothing
//! happens, and what a browser sees. The browser's part is `web/tests/bench.mjs`, where there is
//! one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{BenchResult, memory_kib};
use crate::latency::Bench;
use crate::store::StoreSize;
use crate::table::{FigureTable, LatencySample, at_least, at_most, number, thousands};
use crate::{log_progress, show};

const STARTS: usize = 20;
const POSTS: usize = 200;
const CALLS: usize = 20;
const IDLE: Duration = Duration::from_secs(60);
const IDLE_FULL: Duration = Duration::from_secs(600);
/// Ticks of processor time in a second, as `/proc` counts them.
const TICKS: f64 = 100.0;

/// What the pages read, with what they ask for.
fn page_calls() -> [(&'static str, Value); 9] {
    [
        ("waiting", json!({})),
        ("agents", json!({})),
        ("status", json!({})),
        ("recent", json!({"n": 50})),
        ("decisions", json!({"limit": 50})),
        ("features", json!({})),
        ("guards", json!({})),
        ("what_changed", json!({"since": "2020-01-01T00:00:00Z", "limit": 50})),
        ("assemble", json!({"task": "rotate the session tokens", "scope": "src/"})),
    ]
}

/// A running page and the key to it.
struct PageServer {
    process: Child,
    port: u16,
    key: String,
    took: Duration,
}

impl PageServer {
    /// Starts one, and trades the code in its link for a key.
    fn start(twining: &Path, project: &Path) -> BenchResult<Self> {
        let started = Instant::now();
        let mut process = Command::new(twining)
            .args(["ui", "--print", "--project"])
            .arg(project)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().expect("stdout is piped above"));
        let mut link = String::new();
        while !link.contains("http://127.0.0.1:") {
            link.clear();
            if lines.read_line(&mut link)? == 0 {
                return Err("`twining ui` ended without a link".into());
            }
        }
        let took = started.elapsed();
        let (_, address) = link.trim().split_once("http://127.0.0.1:").ok_or("no link")?;
        let (place, code) = address.split_once("#c=").ok_or("the link has no code")?;
        let port = place.split('/').next().unwrap_or_default().parse()?;
        let mut server = Self { process, port, key: String::new(), took };
        let answer = server.post("/key", &json!({"code": code}))?;
        server.key = answer["key"].as_str().ok_or("the code gave no key")?.to_owned();
        Ok(server)
    }

    fn call(&self, verb: &str, input: &Value) -> BenchResult<Duration> {
        let started = Instant::now();
        let answer = self.post(&format!("/api/{verb}"), input)?;
        if answer["error"] == true {
            return Err(format!("{verb} failed: {answer}").into());
        }
        Ok(started.elapsed())
    }

    fn post(&self, path: &str, body: &Value) -> BenchResult<Value> {
        let body = body.to_string();
        let headers = format!(
            "content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
            body.len()
        );
        let mut stream = self.ask("POST", path, &(headers + "\r\n" + &body))?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply)?;
        let text = String::from_utf8_lossy(&reply);
        let (_, json) = text.split_once("\r\n\r\n").ok_or("no reply")?;
        Ok(serde_json::from_str(json)?)
    }

    fn ask(&self, method: &str, path: &str, rest: &str) -> BenchResult<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let head = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n", self.port);
        let key = format!("authorization: Bearer {}\r\n", self.key);
        stream.write_all((head + &key + rest).as_bytes())?;
        Ok(stream)
    }

    fn rss_mib(&self) -> f64 {
        memory_kib(self.process.id(), "VmRSS:").unwrap_or_default() as f64 / 1024.0
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Everything about the page.
pub(crate) fn ui(bench: &mut Bench) -> BenchResult<()> {
    starts(bench)?;
    answers(bench)?;
    notices(bench)?;
    layouts(bench)?;
    idle(bench)?;
    browser(bench)
}

fn starts(bench: &mut Bench) -> BenchResult<()> {
    log_progress("ui: starts");
    let mut table =
        FigureTable::new("ui: start", ["store", "link p50 ms", "link max ms", "RSS MiB", "goals"]);
    let small = bench.stores.copy(StoreSize::SMALL)?;
    let (large, client, _) = bench.warm(StoreSize::LARGE)?;
    client.close()?;
    for (project, size, goal) in
        [(&small, StoreSize::SMALL, 25.0), (&large, StoreSize::LARGE, f64::INFINITY)]
    {
        let mut link = LatencySample::default();
        let mut rss: f64 = 0.0;
        for _ in 0..STARTS {
            let server = PageServer::start(&bench.twining, project.path())?;
            server.call("status", &json!({}))?;
            link.push(server.took);
            rss = rss.max(server.rss_mib());
        }
        let mut goals = vec![at_most("link p50", link.p50(), 60.0)];
        if goal.is_finite() {
            goals.push(at_most("RSS", rss, goal));
        }
        table.row([
            format!("{} entries", thousands(size.entries)),
            number(link.p50()),
            number(link.max()),
            number(rss),
            goals.join(", "),
        ]);
    }
    table.note(format!("From spawn to the printed link, {STARTS} starts; RSS after `status`."));
    show(&table);
    Ok(())
}

/// What the pages ask, one after the other, and the memory it takes.
fn answers(bench: &mut Bench) -> BenchResult<()> {
    log_progress("ui: what the pages ask");
    let (project, client, _) = bench.warm(StoreSize::LARGE)?;
    client.close()?;
    let server = PageServer::start(&bench.twining, project.path())?;
    let mut table =
        FigureTable::new("ui: what the pages ask", ["call", "first ms", "p50 ms", "max ms"]);
    let deep = json!({"n": 50, "offset": StoreSize::LARGE.entries - 50});
    for (verb, input) in page_calls().into_iter().chain([("recent", deep)]) {
        let first = server.call(verb, &input)?;
        let mut took = LatencySample::default();
        for _ in 0..CALLS {
            took.push(server.call(verb, &input)?);
        }
        table.row([
            format!("{verb} {input}"),
            number(first.as_secs_f64() * 1000.0),
            number(took.p50()),
            number(took.max()),
        ]);
    }
    let rss = server.rss_mib();
    table.note(format!(
        "{}; over HTTP, a connection each. Server RSS afterwards: {} MiB ({}).",
        StoreSize::LARGE,
        number(rss),
        at_most("RSS", rss, 190.0)
    ));
    show(&table);
    Ok(())
}

/// How long after a post in another process the stream says so.
fn notices(bench: &mut Bench) -> BenchResult<()> {
    log_progress("ui: notices");
    let (project, mut writer, _) = bench.warm(StoreSize::LARGE)?;
    let server = PageServer::start(&bench.twining, project.path())?;
    let stream = server.ask("GET", "/events", "\r\n")?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut lines = BufReader::new(stream).lines();
    let mut next = || -> BenchResult<Value> {
        loop {
            let line = lines.next().ok_or("the stream ended")??;
            if let Some(data) = line.strip_prefix("data:") {
                return Ok(serde_json::from_str(data.trim())?);
            }
        }
    };
    next()?;
    // What is there when the watch begins is no news.
    server.call("status", &json!({}))?;
    std::thread::sleep(Duration::from_secs(1));
    let mut took = LatencySample::default();
    for number in 0..POSTS {
        let post = json!({"entry_type": "finding", "summary": format!("seen at once {number}")});
        let started = Instant::now();
        writer.call("twining_post", &post)?;
        while !next()?["kinds"].as_array().is_some_and(|kinds| kinds.contains(&json!("entry"))) {}
        took.push(started.elapsed());
        std::thread::sleep(Duration::from_millis(30));
    }
    writer.close()?;
    let mut table = FigureTable::new("ui: notices", ["what", "p50 ms", "p95 ms", "max ms"]);
    table.row([
        "call of post in another process → notice".to_owned(),
        number(took.p50()),
        number(took.percentile(95.0)),
        number(took.max()),
    ]);
    table.note(format!("{POSTS} posts, {}. The page's own time is below.", StoreSize::LARGE));
    show(&table);
    Ok(())
}

fn layouts(bench: &mut Bench) -> BenchResult<()> {
    log_progress("ui: the layout of a graph");
    let size = StoreSize { relations: 20_000, ..StoreSize::of_graph(5_000) };
    let (project, client, _) = bench.warm(size)?;
    client.close()?;
    let server = PageServer::start(&bench.twining, project.path())?;
    let ask = json!({"limit": 5_000});
    let first = server.call("graph", &ask)?.as_secs_f64();
    let mut later = LatencySample::default();
    for _ in 0..CALLS {
        later.push(server.call("graph", &ask)?);
    }
    let again = later.p50();
    let mut table = FigureTable::new("ui: graph", ["what", "measured", "goals"]);
    table.row(["layout, first, s".to_owned(), number(first), at_most("s", first, 2.5)]);
    table.row(["again, p50, ms".to_owned(), number(again), at_most("ms", again, 50.0)]);
    table.note("5,000 nodes and 20,000 edges; the whole answer over HTTP.");
    show(&table);
    Ok(())
}

/// Processor time while nothing changes.
fn idle(bench: &mut Bench) -> BenchResult<()> {
    let lasting = if bench.is_full { IDLE_FULL } else { IDLE };
    log_progress(&format!("ui: idle for {} s", lasting.as_secs()));
    let project = bench.stores.copy(StoreSize::SMALL)?;
    let server = PageServer::start(&bench.twining, project.path())?;
    let _stream = server.ask("GET", "/events", "\r\n")?;
    server.call("waiting", &json!({}))?;
    std::thread::sleep(Duration::from_secs(5));
    let (ticks, rss) = (processor_ticks(server.process.id()), server.rss_mib());
    std::thread::sleep(lasting);
    let used = (processor_ticks(server.process.id()) - ticks) / TICKS;
    let share = 100.0 * used / lasting.as_secs_f64();
    let growth = server.rss_mib() - rss;
    let mut table = FigureTable::new("ui: idle", ["what", "measured", "goals"]);
    table.row(["processor, % of one".to_owned(), number(share), at_most("%", share, 0.1)]);
    table.row(["growth, MiB".to_owned(), number(growth), at_most("MiB", growth, 0.5)]);
    table.note(format!("One stream open, {} s.", lasting.as_secs()));
    show(&table);
    Ok(())
}

fn processor_ticks(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum()
}

/// What the script names its figures, and their goals.
const BROWSER_GOALS: [(&str, f64); 13] = [
    ("first_paint_ms_p95", 300.0),
    ("interactive_ms_p95", 300.0),
    ("home_filled_ms_p95", 600.0),
    ("record_to_dom_ms_p50", 25.0),
    ("record_to_dom_ms_p95", 100.0),
    ("burst_ms", 1000.0),
    ("burst_worst_frame_ms", 100.0),
    ("scroll_frame_ms_p95", 17.0),
    ("scroll_rows_in_dom", 60.0),
    ("jump_to_end_ms", 150.0),
    ("map_crisp_again_ms", 250.0),
    ("eight_more_tabs_slowest_ms", 600.0),
    ("streams_open", 1.0),
];

/// What a browser measures: the script prints an object of figures.
fn browser(bench: &Bench) -> BenchResult<()> {
    log_progress("ui: in the browser");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/bench.mjs");
    let ran = Command::new("node").arg(&script).env("TWINING_BIN", &bench.twining).output();
    let Ok(ran) = ran else {
        show(&"\nThe browser's part was left out: there is no Node here.");
        return Ok(());
    };
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr).into_owned();
        return Err(format!("{} failed: {why}", script.display()).into());
    }
    let measured: serde_json::Map<String, Value> = serde_json::from_slice(&ran.stdout)?;
    let mut table = FigureTable::new("ui: in the browser", ["what", "measured", "goals"]);
    for (what, value) in measured {
        let value = value.as_f64().unwrap_or(f64::NAN);
        let goal = BROWSER_GOALS.iter().find(|(name, _)| *name == what);
        let goals = match goal {
            Some((_, goal)) => at_most("", value, *goal).trim().to_owned(),
            None if what == "map_pan_fps" => at_least("", value, 55.0).trim().to_owned(),
            None => String::new(),
        };
        table.row([what, number(value), goals]);
    }
    show(&table);
    Ok(())
}
