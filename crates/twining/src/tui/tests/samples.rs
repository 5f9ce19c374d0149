//! A believable project, and a memory that answers for it.

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Size;
use ratatui::style::{Color, Modifier};
use serde_json::{Value, json};
use twining_engine::{
    AgentLiveness, AgentSummary, AgentsOutcome, AnswerNeed, Gravity, WaitingAnswer, WaitingItem,
    WaitingKind, WaitingOutcome, WaitingSubject,
};
use twining_model::{Claim, Time};

use crate::tui::key_decoder::{Key, KeyDecoder};
use crate::tui::offered_act::fields;
use crate::tui::state::{ItemState, ProjectLine, TopEvent, TopRequest, TopState};
use crate::tui::stream_row::{StreamRow, StreamSource};
use crate::tui::theme::Theme;
use crate::tui::view::frame;

pub(super) const SESSIONS: &str = "01M7EB3QWY4C5CPJF69H39V000";
pub(super) const JWT: &str = "01M7EB3QWY4C5CPJF69H39T000";

/// A memory that is not there: it answers requests with what is in it.
pub(super) struct SampleMemory {
    pub(super) items: Vec<WaitingItem>,
    pub(super) agents: AgentsOutcome,
    pub(super) rows: Vec<StreamRow>,
    /// What was asked of it.
    pub(super) asked: Vec<TopRequest>,
}

impl SampleMemory {
    pub(super) fn shop() -> Self {
        Self { items: items(), agents: agents(), rows: rows(), asked: Vec::new() }
    }

    fn answer(&self, request: &TopRequest) -> Option<TopEvent> {
        Some(match request {
            TopRequest::Inbox(page) => {
                let visible = self.items.iter().skip(page.offset).take(page.limit).cloned();
                let total = self.items.len() as u64;
                let items = visible.collect();
                TopEvent::Inbox(*page, WaitingOutcome { items, total, ..Default::default() })
            }
            TopRequest::Item(query) => {
                let found = self.items.iter().find(|item| item.id == query.id).cloned();
                TopEvent::Item(found.map_or(ItemState::Gone, |i| ItemState::Waiting(Box::new(i))))
            }
            TopRequest::Agents => TopEvent::Agents(self.agents.clone()),
            TopRequest::Latest(limit) => {
                TopEvent::Latest(*limit, self.rows.iter().take(*limit).cloned().collect())
            }
            TopRequest::Stream(query) => {
                let kept = |row: &&StreamRow| match &query.source {
                    StreamSource::Entries(kind) => kind.is_none_or(|kind| row.kind == kind),
                    StreamSource::Blocked => row.kind == "blocked",
                    StreamSource::Found(text) => row.summary.contains(text.as_str()),
                };
                let all: Vec<_> = self.rows.iter().filter(kept).cloned().collect();
                let page = all.iter().skip(query.page.offset).take(query.page.limit);
                TopEvent::Stream(query.clone(), page.cloned().collect(), all.len())
            }
            TopRequest::Act(_) | TopRequest::Suspend | TopRequest::Quit => return None,
        })
    }
}

/// The screen of that project.
pub(super) struct SampleTop {
    pub(super) state: TopState,
    pub(super) memory: SampleMemory,
}

impl SampleTop {
    pub(super) fn new(width: u16, height: u16, theme: Theme) -> Self {
        Self::with(SampleMemory::shop(), width, height, theme)
    }

    pub(super) fn with(memory: SampleMemory, width: u16, height: u16, theme: Theme) -> Self {
        let mut top = Self::unloaded(memory, width, height, theme);
        let line =
            ProjectLine { name: "shop".to_owned(), branch: Some("main".to_owned()), exists: true };
        top.happens(TopEvent::Opened(line));
        top
    }

    /// Before anything is loaded.
    pub(super) fn unloaded(memory: SampleMemory, width: u16, height: u16, theme: Theme) -> Self {
        let size = Size { width, height };
        let now = Time::read("2026-11-15T11:12:00Z").expect("is a time");
        let state = TopState::new("shop".to_owned(), size, theme, TimeZone::UTC, now);
        Self { state, memory }
    }

    /// Something happens, and all that follows from it.
    pub(super) fn happens(&mut self, event: TopEvent) {
        let mut requests = self.state.update(event);
        while !requests.is_empty() {
            let request = requests.remove(0);
            let event = self.memory.answer(&request);
            self.memory.asked.push(request);
            event.into_iter().for_each(|event| requests.extend(self.state.update(event)));
        }
    }

    /// Types these bytes.
    pub(super) fn types(&mut self, keys: &str) {
        let mut decoder = KeyDecoder::default();
        let decoded = decoder.push(keys.as_bytes());
        for key in decoded.into_iter().chain(decoder.flush()).collect::<Vec<Key>>() {
            self.happens(TopEvent::Key(key));
        }
    }

    /// The screen as text.
    pub(super) fn text(&self) -> String {
        self.rendered().0
    }

    /// The screen as text, and the style of each piece that has one.
    pub(super) fn rendered(&self) -> (String, String) {
        let Size { width, height } = self.state.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("has a size");
        let draw = |frame: &mut ratatui::Frame<'_>| {
            if let Some(place) = frame::draw(&self.state, frame.buffer_mut()) {
                frame.set_cursor_position(place);
            }
        };
        terminal.draw(draw).expect("draws");
        let buffer = terminal.backend().buffer();
        let (mut text, mut styles) = (String::new(), String::new());
        for y in 0..height {
            let row = (0..width).map(|x| &buffer[(x, y)]);
            let line: String = row.clone().map(|cell| cell.symbol()).collect();
            text.push_str(line.trim_end());
            text.push('\n');
            let mut runs: Vec<(String, String)> = Vec::new();
            for cell in row {
                let style = style_words(cell.fg, cell.modifier);
                match runs.last_mut() {
                    Some((same, run)) if *same == style => run.push_str(cell.symbol()),
                    _ => runs.push((style, cell.symbol().to_owned())),
                }
            }
            let styled = runs.iter().filter(|(style, run)| {
                !style.is_empty() && (!run.trim().is_empty() || style.contains("REVERSED"))
            });
            for (style, run) in styled {
                styles.push_str(&format!("{y:2} {style}: {}\n", run.trim()));
            }
        }
        (text, styles)
    }
}

fn style_words(colour: Color, modifier: Modifier) -> String {
    let colour = if colour == Color::Reset { String::new() } else { format!("{colour:?}") };
    let modifier = if modifier.is_empty() { String::new() } else { format!("{modifier:?}") };
    [colour, modifier].join(" ").trim().to_owned()
}

pub(super) fn answer(label: &str, verb: &str, input: Value, needs: &[AnswerNeed]) -> WaitingAnswer {
    WaitingAnswer {
        label: label.to_owned(),
        verb: verb.to_owned(),
        input: fields(input),
        needs: needs.to_vec(),
        field: Some(
            if needs.contains(&AnswerNeed::Text) { "summary" } else { "reason" }.to_owned(),
        ),
        reason_field: None,
        then: format!("{label}: this holds afterwards."),
        command: format!("twining {verb} … --reason \"…\""),
    }
}

pub(super) fn item(id: &str, kind: WaitingKind, title: &str) -> WaitingItem {
    WaitingItem {
        id: id.to_owned(),
        kind,
        title: title.to_owned(),
        why_you: "Agents cannot decide this among themselves.".to_owned(),
        since: Some("2026-11-15T10:47:00Z".to_owned()),
        scope: None,
        by: None,
        gravity: Gravity::Open,
        subjects: Vec::new(),
        answers: Vec::new(),
        href: String::new(),
        settled: None,
    }
}

fn subject(
    id: &str,
    summary: &str,
    status: &str,
    by: &str,
    why: &str,
    rests: &str,
) -> WaitingSubject {
    WaitingSubject {
        id: id.to_owned(),
        summary: summary.to_owned(),
        detail: Some(why.to_owned()),
        by: Some(by.to_owned()),
        status: Some(status.to_owned()),
        rests_on_it: Some(rests.to_owned()),
        href: format!("/d/{id}"),
    }
}

fn items() -> Vec<WaitingItem> {
    let grave = [AnswerNeed::Reason, AnswerNeed::Name];
    let taken = json!({"decision_ids": [SESSIONS], "instead_of": [JWT]});
    let mut take = answer("Take sessions", "promote", taken, &grave);
    take.then = "\"Use stateless JWT\" is overridden by you. Its guard express-session no longer blocks. 4 decisions that rest on it are flagged.".to_owned();
    take.command = format!("twining promote {SESSIONS} --instead-of {JWT} --reason \"…\"");
    let kept = json!({"decision_id": SESSIONS});
    let keep = answer("Keep JWT", "override", kept, &grave);
    let third = answer("Write a third", "", json!({}), &[]);
    let contested = WaitingItem {
        scope: Some("src/auth/".to_owned()),
        by: Some("bob".to_owned()),
        since: Some("2026-11-15T09:12:00Z".to_owned()),
        gravity: Gravity::Blocking,
        why_you: "Both decisions bind now, and they disagree.".to_owned(),
        subjects: vec![
            subject(
                SESSIONS,
                "Use server sessions in redis",
                "provisional",
                "bob",
                "tokens cannot be revoked",
                "",
            ),
            subject(
                JWT,
                "Use stateless JWT",
                "active",
                "ada",
                "no store to run",
                "4 decisions, F7, 1 guard",
            ),
        ],
        answers: vec![take, keep, third],
        ..item("contested:1", WaitingKind::Contested, "sessions in redis ⇄ stateless JWT")
    };
    let blocked = WaitingItem {
        scope: Some("src/import/".to_owned()),
        gravity: Gravity::Blocking,
        since: Some("2026-11-15T10:32:00Z".to_owned()),
        answers: vec![answer("Reopen", "report", json!({"feature": "F9"}), &[AnswerNeed::Reason])],
        ..item("blocked:F9", WaitingKind::BlockedFeature, "F9 Import from CSV: failed twice")
    };
    let question = WaitingItem {
        scope: Some("src/net/".to_owned()),
        by: Some("bob".to_owned()),
        answers: vec![
            answer("Answer", "post", json!({"entry_type": "answer"}), &[AnswerNeed::Text]),
            answer("Dismiss", "dismiss", json!({"ids": ["e1"]}), &[AnswerNeed::Reason]),
        ],
        ..item("question:e1", WaitingKind::Question, "Which port does the proxy use?")
    };
    let proposed = WaitingItem {
        gravity: Gravity::Minor,
        since: Some("2026-11-15T11:02:00Z".to_owned()),
        answers: vec![answer(
            "Promote",
            "guard_promote",
            json!({"guard": "no-direct-sql"}),
            &[AnswerNeed::Name],
        )],
        ..item(
            "proposed:no-direct-sql",
            WaitingKind::ProposedGuard,
            "guard no-direct-sql, 7 of 812, 0 wrong",
        )
    };
    vec![contested, blocked, question, proposed]
}

fn agents() -> AgentsOutcome {
    let agent = |name: &str, role: &str, liveness, last_active: &str| AgentSummary {
        agent_id: name.to_owned(),
        capabilities: Vec::new(),
        role: Some(role.to_owned()),
        description: Some(format!("{role} of the team")),
        liveness,
        last_active: last_active.to_owned(),
        registered_at: None,
        suspicious: None,
    };
    let claim = |agent: &str, path: &str, feature: Option<&str>| Claim {
        id: format!("claim-{agent}"),
        agent_id: agent.to_owned(),
        session_id: None,
        principal: None,
        paths: vec![path.to_owned()],
        feature: feature.map(str::to_owned),
        reason: "working".to_owned(),
        since: "2026-11-15T10:00:00Z".to_owned(),
        until: "2026-11-15T14:34:00Z".to_owned(),
    };
    AgentsOutcome {
        agents: vec![
            agent("ada", "coder", AgentLiveness::Active, "2026-11-15T11:11:30Z"),
            agent("bob", "coach", AgentLiveness::Active, "2026-11-15T11:10:00Z"),
            agent("cy", "docs", AgentLiveness::Idle, "2026-11-15T11:06:00Z"),
        ],
        gone: 0,
        claims: vec![claim("ada", "src/auth", Some("F7")), claim("cy", "docs/", None)],
        handoffs: Vec::new(),
    }
}

fn rows() -> Vec<StreamRow> {
    let row = |id: &str, at: &str, kind: &str, by: &str, summary: &str, scope: &str| StreamRow {
        id: id.to_owned(),
        at: format!("2026-11-15T{at}:00Z"),
        kind: kind.to_owned(),
        by: by.to_owned(),
        summary: summary.to_owned(),
        scope: scope.to_owned(),
        detail: "Seen with 20 requests at once; the loop stalls for 300 ms.\nSecond line."
            .to_owned(),
        tags: vec!["auth".to_owned()],
        relates_to: vec![JWT.to_owned()],
        origin: "claude, mcp, agent".to_owned(),
    };
    let mut rows = vec![
        row("t1", "11:05", "blocked", "ada", "Bash git push -f origin main", "no-force-push"),
        row("e1", "10:58", "warning", "bob", "bcrypt cost 12 blocks the loop", "src/auth/hash.ts"),
        row("e2", "10:47", "question", "bob", "Which port does the proxy use?", "src/net/"),
        row("e3", "10:31", "decision", "ada", "Use stateless JWT", "src/auth/"),
    ];
    rows.extend((0..96).map(|n| {
        row(&format!("f{n}"), "09:00", "finding", "cy", &format!("Finding number {n}"), "docs/")
    }));
    rows
}
