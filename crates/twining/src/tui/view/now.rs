//! The first screen: what needs a person, who is at work, the newest of the stream.

use ratatui::text::Line;
use twining_engine::{
    AgentLiveness, AgentSummary, AgentsOutcome, Gravity, WaitingItem, WaitingKind,
};
use twining_model::Time;
use unicode_width::UnicodeWidthStr;

use crate::tui::age;
use crate::tui::state::{Pane, TopState};
use crate::tui::theme::Tone;
use crate::tui::view::item;
use crate::tui::view::lines::{Border, LineBuilder, border, joined, plain_line, sided};
use crate::tui::view::stream;

/// The body of the screen.
pub(super) fn lines(state: &TopState, width: usize) -> Vec<Line<'static>> {
    let layout = state.now_layout();
    let theme = state.theme;
    if !layout.bordered {
        return inbox_rows(state, layout.inbox, width);
    }
    let boxed = |rows: Vec<Line<'static>>, count: usize, width: usize| -> Vec<Line<'static>> {
        let mut rows = rows;
        rows.resize(count, Line::default());
        rows.into_iter().map(|row| sided(theme, row, width)).collect()
    };
    if layout.two_columns {
        let left = width * 11 / 20;
        let right = width - left;
        let mut first = vec![border(theme, Border::Top, &inbox_title(state), left)];
        first.extend(boxed(inbox_rows(state, layout.inbox, left - 2), layout.inbox, left));
        first.push(border(theme, Border::Middle, "Selected", left));
        first.extend(boxed(preview(state, left - 2), layout.preview, left));
        first.push(border(theme, Border::Bottom, "", left));
        let mut second = vec![border(theme, Border::Top, "At work", right)];
        second.extend(boxed(agent_rows(state, layout.agents, right - 2), layout.agents, right));
        second.push(border(theme, Border::Middle, "Stream", right));
        second.extend(boxed(latest_rows(state, layout.stream, right - 2), layout.stream, right));
        second.push(border(theme, Border::Bottom, "", right));
        return first.into_iter().zip(second).map(|(left, right)| joined(left, right)).collect();
    }
    let inner = width.saturating_sub(2);
    let mut lines = vec![border(theme, Border::Top, &inbox_title(state), width)];
    lines.extend(boxed(inbox_rows(state, layout.inbox, inner), layout.inbox, width));
    if layout.agents > 0 {
        lines.push(border(theme, Border::Middle, "At work", width));
        lines.extend(boxed(agent_rows(state, layout.agents, inner), layout.agents, width));
    }
    if layout.stream > 0 {
        lines.push(border(theme, Border::Middle, "Stream", width));
        lines.extend(boxed(latest_rows(state, layout.stream, inner), layout.stream, width));
    }
    lines.push(border(theme, Border::Bottom, "", width));
    lines
}

/// What a kind is called in a column.
pub(super) fn kind_label(kind: WaitingKind) -> &'static str {
    match kind {
        WaitingKind::Altered => "altered",
        WaitingKind::DeadGuard => "dead guard",
        WaitingKind::Contested => "contested",
        WaitingKind::MergeClash => "clash",
        WaitingKind::ClaimedOverride => "override",
        WaitingKind::BlockedFeature => "blocked",
        WaitingKind::TurnQuestion | WaitingKind::Question => "question",
        WaitingKind::Need => "need",
        WaitingKind::ProposedGuard => "proposed",
        WaitingKind::StaleClaim => "claim",
        WaitingKind::Handoff => "handoff",
        WaitingKind::KnowledgeError => "graph",
    }
}

/// How grave it looks; the word beside it says the same.
pub(super) fn tone(gravity: Gravity) -> Tone {
    match gravity {
        Gravity::Grave => Tone::Bad,
        Gravity::Blocking => Tone::Warn,
        Gravity::Open => Tone::Normal,
        Gravity::Minor => Tone::Dim,
    }
}

fn inbox_title(state: &TopState) -> String {
    let (total, rows) = (state.inbox.total(), state.now_layout().inbox);
    if total > rows {
        format!("Needs you, {} of {total}", state.inbox.position() + 1)
    } else {
        "Needs you".to_owned()
    }
}

fn inbox_rows(state: &TopState, rows: usize, width: usize) -> Vec<Line<'static>> {
    if !state.project.exists {
        let text = " there is no memory here yet; twining init sets it up";
        return vec![plain_line(state.theme, text, width, Tone::Normal)];
    }
    if state.inbox.total() == 0 {
        let (text, tone) = match state.inbox.is_loaded() {
            true => (" nothing waits for you", Tone::Good),
            false => (" loading…", Tone::Dim),
        };
        return vec![plain_line(state.theme, text, width, tone)];
    }
    let visible = state.inbox.visible(rows);
    visible.map(|(selected, item)| inbox_row(state, item, selected, width)).collect()
}

fn inbox_row(
    state: &TopState,
    item: Option<&WaitingItem>,
    is_selected: bool,
    width: usize,
) -> Line<'static> {
    let row = LineBuilder::row(state.theme, is_selected && state.pane == Pane::Inbox);
    let Some(item) = item else { return row.cell("…", 2, Tone::Dim).filled(width) };
    let scope = match width {
        100.. => 26,
        60.. => 14,
        _ => 0,
    };
    let (age, by) = if width >= 44 { (4, if width >= 100 { 12 } else { 6 }) } else { (0, 0) };
    let taken =
        12 + [scope, age, by].iter().map(|part| part + usize::from(*part > 0)).sum::<usize>();
    let row = row.cell(kind_label(item.kind), 10, tone(item.gravity)).text(" ", Tone::Normal);
    let mut row = row.cell(&item.title, width.saturating_sub(taken), Tone::Normal);
    if scope > 0 {
        row = row.text(" ", Tone::Normal).cell(
            item.scope.as_deref().unwrap_or_default(),
            scope,
            Tone::Place,
        );
    }
    if age > 0 {
        let since = item.since.as_deref().and_then(Time::read);
        let since = since.map(|since| age::label(state.now, since)).unwrap_or_default();
        row = row.text(" ", Tone::Normal).right(&since, age, Tone::Dim);
        row = row.text(" ", Tone::Normal).cell(
            item.by.as_deref().unwrap_or_default(),
            by,
            Tone::Normal,
        );
    }
    row.filled(width)
}

fn preview(state: &TopState, width: usize) -> Vec<Line<'static>> {
    match state.inbox.selected() {
        Some(selected) => item::content(state, selected, width),
        None => Vec::new(),
    }
}

fn agent_rows(state: &TopState, rows: usize, width: usize) -> Vec<Line<'static>> {
    let Some(outcome) = &state.agents else {
        return vec![plain_line(state.theme, " loading…", width, Tone::Dim)];
    };
    if outcome.agents.is_empty() {
        return vec![plain_line(state.theme, " nobody is at work", width, Tone::Dim)];
    }
    let first = (state.agent_position + 1).saturating_sub(rows);
    let shown = outcome.agents.iter().enumerate().skip(first).take(rows);
    shown
        .map(|(index, agent)| {
            let is_selected = state.pane == Pane::Agents && index == state.agent_position;
            agent_row(state, outcome, agent, is_selected, width)
        })
        .collect()
}

fn agent_row(
    state: &TopState,
    outcome: &AgentsOutcome,
    agent: &AgentSummary,
    is_selected: bool,
    width: usize,
) -> Line<'static> {
    let (dot, tone) = match agent.liveness {
        AgentLiveness::Active => ("●", Tone::Good),
        AgentLiveness::Idle => ("○", Tone::Dim),
        AgentLiveness::Gone => ("×", Tone::Dim),
    };
    let claims: Vec<_> =
        outcome.claims.iter().filter(|claim| claim.agent_id == agent.agent_id).collect();
    let feature = claims.iter().find_map(|claim| claim.feature.clone());
    let doing = match (agent.liveness, feature) {
        (AgentLiveness::Active, Some(feature)) => feature,
        (AgentLiveness::Active, None) => claims.first().map_or_else(
            || agent.description.clone().unwrap_or_default(),
            |claim| claim.reason.clone(),
        ),
        _ => {
            let since = Time::read(&agent.last_active);
            let since = since.map(|since| age::label(state.now, since)).unwrap_or_default();
            format!("{} {since}", agent.liveness.as_str())
        }
    };
    let held: Vec<&str> =
        claims.iter().flat_map(|claim| &claim.paths).map(String::as_str).collect();
    let until = claims.iter().filter_map(|claim| Time::read(&claim.until)).max();
    let holds = match (held.is_empty(), until) {
        (true, _) => String::new(),
        (false, None) => format!("holds {}", held.join(" ")),
        (false, Some(until)) => {
            let until = age::clock(state.now, until, &state.zone);
            format!("holds {} until {until}", held.join(" "))
        }
    };
    let name = if width >= 60 { 12 } else { 8 };
    let role = if width >= 60 { 8 } else { 0 };
    let rest = width.saturating_sub(4 + name + role);
    let holding = holds.width().min(rest * 2 / 3);
    let row = LineBuilder::row(state.theme, is_selected)
        .cell(dot, 2, tone)
        .cell(&agent.agent_id, name, Tone::Strong)
        .cell(agent.role.as_deref().unwrap_or_default(), role, Tone::Normal)
        .text(" ", Tone::Normal);
    let row = match &agent.suspicious {
        Some(why) => row.cell(why, rest - holding, Tone::Bad),
        None => row.cell(&doing, rest - holding, Tone::Normal),
    };
    row.cell(&holds, holding, Tone::Place).filled(width)
}

fn latest_rows(state: &TopState, rows: usize, width: usize) -> Vec<Line<'static>> {
    if state.latest.is_empty() {
        return vec![stream::empty(state, width)];
    }
    let shown = state.latest.iter().take(rows);
    shown.map(|row| stream::row(state, Some(row), false, width)).collect()
}
