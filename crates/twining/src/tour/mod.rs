//! `tour`: the main job, played for real on a throwaway repository.
//!
//! Two agents, each with its own server process, share one memory: they post,
//! decide, collide, ask why and assemble; a rule stops one of them, and git merges
//! what they did on two branches. Nothing is staged; every line shown is what came
//! back.

mod branches;
pub mod client;
mod repository;
mod rule;

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::out;
use crate::page::{StyledText, TextPage, bad, dim, good, place, plain, strong, warn};
use crate::problem::{CommandError, ExitStatus};
use client::{ClientError, McpClient, ProtocolEra};

/// Why a tour stopped.
#[derive(Debug, thiserror::Error)]
enum TourError {
    #[error("cannot make a place for the tour")]
    Place(#[source] io::Error),
    #[error("an agent lost its server")]
    McpClient(#[from] ClientError),
    #[error("cannot run a command of the tour")]
    Run(#[source] io::Error),
    #[error("cannot print")]
    Print(#[source] io::Error),
}

/// Plays the tour.
pub fn play() -> Result<ExitStatus, CommandError> {
    match story() {
        // Whoever read the tour has seen enough.
        Err(TourError::Print(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitStatus::Done),
        ended => ended.map(|()| ExitStatus::Done).map_err(|error| CommandError::of_error("TOUR", &error)),
    }
}

fn story() -> Result<(), TourError> {
    let program = std::env::current_exe().map_err(TourError::Place)?;
    let place = tempfile::tempdir().map_err(TourError::Place)?;
    repository::plant(place.path()).map_err(TourError::Place)?;
    say(|page| {
        page.line([strong("Two agents, one repository, one memory.")]);
        page.block(0, &format!("A throwaway repository stands in {}", place.path().display()));
    })?;

    let started = Instant::now();
    let mut ada = McpClient::start(&program, place.path(), "ada", ProtocolEra::Handshake)?;
    let tools = ada.tools()?;
    let ms = started.elapsed().as_millis();
    say(|page| {
        scene(page, "1  Ada starts");
        page.line([strong("ada"), plain(format!("has her own server and {} tools after {ms} ms (protocol 2025-11-25)", tools.len()))]);
    })?;
    let choice = ada_works(&mut ada)?;
    ben_collides(&program, place.path(), &choice)?;
    ada_looks_again(&mut ada)?;
    ada.leave().map_err(ClientError::Gone)?;
    rule::holds(&program, place.path())?;
    branches::meet(&program, place.path())?;
    say(|page| what_is_left(page, place.path()))
}

/// Ada finds the memory empty and leaves it less so.
fn ada_works(ada: &mut McpClient) -> Result<String, TourError> {
    let task = json!({"task": "replace login sessions with tokens", "scope": "src/auth/"});
    let empty = ada.call("twining_assemble", &task)?;
    say(|page| asked(page, "ada", "assemble", "what do we know about src/auth/?", &empty, show_context))?;

    let trap = json!({"entry_type": "warning", "summary": "Server clocks differ by up to 5 minutes", "scope": "src/auth/",
        "detail": "Seen in the logs of the last outage: a token may look expired before it was issued.", "tags": ["auth"]});
    let posted = ada.call("twining_post", &trap)?;
    say(|page| asked(page, "ada", "post", "warning: Server clocks differ by up to 5 minutes", &posted, show_id))?;
    let need = json!({"entry_type": "need", "summary": "Someone must write the key rotation", "scope": "src/auth/"});
    let posted = ada.call("twining_post", &need)?;
    say(|page| asked(page, "ada", "post", "need: Someone must write the key rotation", &posted, show_id))?;

    let choice = json!({
        "domain": "architecture", "scope": "src/auth/", "summary": "Stateless JWT, 15 minutes, RS256",
        "context": "Sticky sessions stop us from adding servers",
        "rationale": "Any server can check a signature; no session store to run",
        "alternatives": [{"option": "Sessions in Redis", "pros": ["easy to revoke"], "reason_rejected": "adds what we want to remove"}],
        "confidence": "high", "affected_files": ["src/auth/session.ts"], "affected_symbols": ["createSession"],
    });
    let decided = ada.call("twining_decide", &choice)?;
    say(|page| asked(page, "ada", "decide", "Stateless JWT, 15 minutes, RS256", &decided, show_decided))?;
    Ok(decided["id"].as_str().unwrap_or_default().to_owned())
}

/// Ben, in another process, knows at once; and still wants something else.
fn ben_collides(program: &Path, project: &Path, choice: &str) -> Result<(), TourError> {
    let mut ben = McpClient::start(program, project, "ben", ProtocolEra::Stateless)?;
    say(|page| {
        scene(page, "2  Ben joins");
        page.line([strong("ben"), plain("has a server of his own (protocol 2026-07-28)")]);
    })?;
    let context = ben.call("twining_assemble", &json!({"task": "log users out everywhere", "scope": "src/auth/session.ts"}))?;
    say(|page| asked(page, "ben", "assemble", "what must I know for src/auth/session.ts?", &context, show_context))?;

    say(|page| scene(page, "3  They collide"))?;
    let rival = json!({
        "domain": "architecture", "scope": "src/auth/session.ts", "summary": "Sessions in Redis",
        "context": "Users must be logged out at once", "rationale": "A JWT cannot be revoked before it expires", "confidence": "medium",
    });
    let decided = ben.call("twining_decide", &rival)?;
    say(|page| asked(page, "ben", "decide", "Sessions in Redis", &decided, show_decided))?;
    let rests = json!({"decision_id": choice});
    let touched = ben.call("twining_impact", &rests)?;
    say(|page| asked(page, "ben", "impact", "what hangs on Ada's choice?", &touched, |answer, page| note(page, &answer["summary"])))?;
    ben.leave().map_err(ClientError::Gone)?;
    Ok(())
}

/// Ada sees what Ben did, though his process is gone.
fn ada_looks_again(ada: &mut McpClient) -> Result<(), TourError> {
    say(|page| scene(page, "4  Ada asks why"))?;
    let why = ada.call("twining_why", &json!({"scope": "src/auth/session.ts"}))?;
    say(|page| asked(page, "ada", "why", "src/auth/session.ts", &why, show_why))?;
    let status = ada.call("twining_status", &json!({}))?;
    say(|page| asked(page, "ada", "status", "", &status, |answer, page| note(page, &answer["summary"])))?;
    let wrong = ada.call("twining_post", &json!({"entry_type": "rumour", "summary": "it is slow"}))?;
    say(|page| asked(page, "ada", "post", "rumour: it is slow", &wrong, |answer, page| note(page, &answer["message"])))
}

fn what_is_left(page: &mut TextPage, project: &Path) {
    scene(page, "7  What is left");
    page.line([plain("Plain files that git tracks, jq reads and people review:")]);
    for line in repository::tracked(project) {
        page.line([dim(" "), place(line)]);
    }
    page.heading("Now yours");
    page.line([dim("In a repository of your own:")]);
    page.line([strong("  twining init"), dim("     wires up git and the agents it finds; --dry-run shows the diff")]);
    page.line([strong("  twining doctor"), dim("   proves that it works")]);
    page.line([strong("  twining status"), dim("   looks over their shoulder")]);
}

fn scene(page: &mut TextPage, title: &str) {
    page.blank();
    page.line([strong(title)]);
}

/// A call and what came back.
fn asked(page: &mut TextPage, agent: &str, verb: &str, words: &str, answer: &Value, show: impl FnOnce(&Value, &mut TextPage)) {
    page.line([strong(agent), good(verb)].into_iter().chain((!words.is_empty()).then(|| plain(words))));
    show(answer, page);
}

fn show_id(answer: &Value, page: &mut TextPage) {
    note(page, &answer["id"]);
}

fn show_context(answer: &Value, page: &mut TextPage) {
    let rows = [
        ("active_decisions", "follow", strong as fn(String) -> StyledText),
        ("active_warnings", "beware", bad),
        ("open_needs", "needed", warn),
        ("recent_findings", "known", plain),
    ];
    let mut told = Vec::new();
    for (field, label, style) in rows {
        told.extend(items(&answer[field]).map(|item| vec![dim(label), style(text(&item["summary"]))]));
    }
    if told.is_empty() {
        told.push(vec![dim("nothing yet")]);
    }
    page.table(6, &told);
}

fn show_decided(answer: &Value, page: &mut TextPage) {
    page.table(6, &[vec![dim(text(&answer["status"])), dim(text(&answer["id"]))]]);
    let rivals = items(&answer["conflicts"]);
    page.table(
        6,
        &rivals
            .map(|rival| vec![warn("conflicts with"), strong(text(&rival["summary"])), dim(text(&rival["rationale"]))])
            .collect::<Vec<_>>(),
    );
}

fn show_why(answer: &Value, page: &mut TextPage) {
    let decisions = items(&answer["decisions"])
        .map(|decision| vec![dim(text(&decision["status"])), strong(text(&decision["summary"])), dim(text(&decision["rationale"]))]);
    page.table(6, &decisions.collect::<Vec<_>>());
    if answer["contested"] == true {
        page.table(6, &[vec![warn("contested: a person settles it with `twining override`")]]);
    }
}

fn note(page: &mut TextPage, words: &Value) {
    page.table(6, &[vec![dim(text(words))]]);
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Prints as it happens, not at the end.
fn say(show: impl FnOnce(&mut TextPage)) -> Result<(), TourError> {
    let mut page = out::page();
    show(&mut page);
    let mut stdout = anstream::stdout();
    stdout.write_all(page.as_str().as_bytes()).and_then(|()| stdout.flush()).map_err(TourError::Print)
}
