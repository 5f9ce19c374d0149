//! Which processes are hosts of sessions in this project, and who acts inside one.
//!
//! A hook descends from its host; so does every command the host's agent runs, and
//! whatever that starts. So a process that descends from a host is an agent's: it is
//! no person, whatever terminal it opened, and what it tells as a hook is made up,
//! unless it is a host itself. Where the system does not tell who started whom,
//! nothing is known, and nobody is refused.

mod cage;
mod program;
mod teller;

use serde::{Deserialize, Serialize};
use twining_model::text;
use twining_store::Store;

use crate::ancestry::{self, Process};
use crate::desk::Project;
use crate::hook::{Kept, mark_of};
use cage::Cage;
use program::{is_injected, is_named, program_of, runs_lines};
use teller::{Teller, Way, is_shell, says};

/// The note they are kept in. The store never clears it away by itself.
const NOTE: &str = "shared-hosts";
/// The same outside the project. Whoever takes the note away is an agent's all the
/// same; nobody is taken for a host by what stands there.
const ASIDE: &str = "hosts-";
/// Hosts that are remembered.
const MOST_HOSTS: usize = 64;
/// Their programs.
const MOST_PROGRAMS: usize = 16;
/// How long a host counts as running that we could not see if it were: one outside of
/// our namespace, in milliseconds.
const UNSEEN_FOR: i64 = 24 * 60 * 60 * 1000;
/// How often a note is written that another session writes at the same time.
const TRIES: usize = 3;
/// What takes in processes whose parent has ended, besides the first of all.
const REAPERS: [&str; 9] = ["systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "runsvdir", "upstart"];

/// A host's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    process: u32,
    began: u64,
    /// When it was first heard of, in the same ticks.
    since: u64,
    /// A session of it.
    session: String,
    name: String,
    /// Whether it goes by the name of a host for agents, and is nothing else. Any other
    /// program that speaks to hooks may be one that a person works in, or has tests run by.
    is_named: bool,
    way: Way,
    /// What its hooks were shut into.
    cage: Cage,
    /// When it was first heard of, in milliseconds since 1970.
    at: i64,
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Hosts {
    known: Vec<Known>,
    /// What hosts run that nobody but a person started.
    programs: Vec<String>,
}

/// Why a process is taken for an agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found<'h> {
    /// A host started it.
    Inside(&'h Known),
    /// It began after a host, and whoever started it is gone.
    Adrift(&'h Process, &'h Known),
    /// It is shut into a sandbox from which a host outside cannot be seen.
    Caged(&'h Known),
}

/// What can be seen of hosts that are running.
#[derive(Clone, Debug, Default)]
struct Sight {
    living: Vec<Known>,
    /// Those that were heard of lately outside of our namespace.
    unseen: Vec<Known>,
    cage: Cage,
}

/// Notes the host that tells of an event.
pub fn heard(project: &Project, session: &str) {
    let lineage = ancestry::lineage();
    let Some(teller) = Teller::of(&lineage) else { return };
    let hosts = Hosts::sealed(project.engine.store());
    let _ = admitted(project, session, &lineage, &teller, &hosts);
}

/// Why what an event tells is not believed; nothing if it is a host's word.
pub fn doubt(project: &Project, session: &str) -> Option<String> {
    let lineage = ancestry::lineage();
    let Some(teller) = Teller::of(&lineage) else {
        // Whoever started us is outside of all we see, as with `docker exec`.
        return opened_by_agent(project);
    };
    let hosts = Hosts::sealed(project.engine.store());
    let process = lineage.get(teller.at)?;
    match hosts.known.iter().find(|known| known.is(process)) {
        Some(known) if (known.way == Way::Socket && teller.way == Way::Pipe) || Cage::own().is_stricter_than(&known.cage) => {
            Some(format!("process {} ({}) tells its hooks in another way", process.id, shown(&process.name)))
        }
        Some(_) => None,
        None => admitted(project, session, &lineage, &teller, &hosts).err(),
    }
}

/// What tells that an agent opened this shell, and not a person.
pub fn opened_by_agent(project: &Project) -> Option<String> {
    let lineage = ancestry::lineage();
    let sight = Sight::of(project);
    Some(match found(&lineage, &sight)? {
        Found::Caged(host) => format!("this is a sandbox, and session {} was begun outside of it", shown(&host.session)),
        Found::Inside(host) => {
            format!("process {} ({}), which runs session {}, started this one", host.process, shown(&host.name), shown(&host.session))
        }
        Found::Adrift(process, host) => format!(
            "process {} ({}) began after session {} did, and nothing shows who started it",
            process.id,
            shown(&process.name),
            shown(&host.session)
        ),
    })
}

/// Remembers a process as a host, unless it is an agent's and runs nothing that is
/// known for a host's.
fn admitted(project: &Project, session: &str, lineage: &[Process], teller: &Teller, hosts: &Hosts) -> Result<(), String> {
    let (Some(process), Some(own)) = (lineage.get(teller.at), lineage.first()) else { return Ok(()) };
    if hosts.known.iter().any(|known| known.is(process)) {
        return Ok(());
    }
    let mut sight = Sight::of(project);
    sight.living.retain(|known| !known.is(process));
    let found = found(lineage.get(teller.at..).unwrap_or_default(), &sight);
    let program = program_of(process);
    if let Some(found) = &found {
        let is_host = program.as_ref().is_some_and(|program| hosts.programs.contains(program)) && !is_injected(process);
        if !is_host {
            let who = format!("process {} ({})", process.id, shown(&process.name));
            return Err(match found {
                Found::Inside(host) => format!("{who} told of it, which was started inside session {}", shown(&host.session)),
                Found::Caged(host) => {
                    format!("{who} told of it, in a sandbox, and session {} was begun outside of it", shown(&host.session))
                }
                Found::Adrift(_, host) => {
                    format!("{who} told of it, which began after session {} did, and nothing shows who started it", shown(&host.session))
                }
            });
        }
    }
    // In a shell, a person tries a hook; no host is one.
    if runs_lines(process) {
        return Ok(());
    }
    let known = Known {
        process: process.id,
        began: process.began,
        since: own.began,
        session: text::excerpt(session, 80),
        is_named: is_named(process),
        name: process.name.clone(),
        way: teller.way,
        cage: sight.cage.clone(),
        at: project.engine.store().ids().now().as_ms(),
    };
    remember(project, &known, program.as_deref().filter(|_| found.is_none()));
    Ok(())
}

/// Adds a host. What cannot be kept makes a later check weaker, never this answer wrong.
fn remember(project: &Project, known: &Known, program: Option<&str>) {
    let store = project.engine.store();
    for _ in 0..TRIES {
        let mut hosts = Hosts::sealed(store);
        if hosts.known.contains(known) {
            break;
        }
        hosts.known.retain(|other| other.may_live(known.cage.view, known.at));
        hosts.known.push(known.clone());
        hosts.known.drain(..hosts.known.len().saturating_sub(MOST_HOSTS));
        if let Some(program) = program {
            hosts.programs.retain(|known| known != program);
            hosts.programs.push(program.to_owned());
            hosts.programs.drain(..hosts.programs.len().saturating_sub(MOST_PROGRAMS));
        }
        let _ = serde_json::to_vec(&hosts).map(|bytes| store.leave_sealed(NOTE, &bytes));
    }
    if store.exists().unwrap_or(false) {
        let Sight { mut living, unseen, .. } = Sight::of(project);
        living.extend(unseen);
        living.truncate(MOST_HOSTS);
        let _ = serde_json::to_vec(&living).map(|bytes| Kept::open(&project.located.place.project).put(&name_aside(project), &bytes));
    }
}

/// Whose the first of a lineage is, if it is an agent's.
fn found<'h>(lineage: &'h [Process], sight: &'h Sight) -> Option<Found<'h>> {
    let living = &sight.living;
    // What names this very call on its way from a host is for the guards to see, which
    // read lines; it is a script that hides it.
    let said: Vec<String> = std::env::args().collect();
    let mut is_said = true;
    let inside = lineage.iter().find_map(|process| {
        let host = living.iter().find(|known| known.is(process));
        let inside = host.filter(|host| host.is_named || !is_said);
        is_said &= host.is_some() || says(&process.words(), &said);
        inside
    });
    if let Some(host) = inside {
        return Some(Found::Inside(host));
    }
    let own = lineage.first()?;
    let adrift = lineage.iter().zip(lineage.iter().skip(1)).filter(|(_, parent)| takes_in(parent, own)).map(|(process, _)| process);
    let later = adrift.filter_map(|process| Some((process, living.iter().find(|known| known.since <= process.began)?)));
    // What another user runs, such as `login` or a service, no agent of ours started.
    let mut ours = later.filter(|(process, _)| process.user() == own.user());
    let adrift = ours.next().map(|(process, host)| Found::Adrift(process, host));
    adrift.or_else(|| sight.unseen.iter().find(|host| sight.cage.is_stricter_than(&host.cage)).map(Found::Caged))
}

/// Whether a process takes in those whose parent has ended. A shell that is the first
/// process of a container is where its person types.
fn takes_in(parent: &Process, own: &Process) -> bool {
    let is_persons_shell = is_shell(&parent.name) && own.session == parent.session;
    (parent.id == 1 || REAPERS.contains(&parent.name.as_str())) && !is_persons_shell
}

impl Known {
    fn is(&self, process: &Process) -> bool {
        (self.process, self.began) == (process.id, process.began)
    }

    /// Whether it is running, or may be where we cannot see it.
    fn may_live(&self, view: u64, now: i64) -> bool {
        if self.cage.view == view { Process::of(self.process).is_some_and(|process| self.is(&process)) } else { now - self.at < UNSEEN_FOR }
    }
}

impl Sight {
    /// By anything that speaks of hosts: another hand can only add to those who are refused.
    fn of(project: &Project) -> Self {
        let store = project.engine.store();
        let aside = Kept::if_there(&project.located.place.project).get(&name_aside(project));
        let aside: Vec<Known> = aside.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let mut known = Hosts::sealed(store).known;
        for other in aside {
            if !known.contains(&other) {
                known.push(other);
            }
        }
        let (cage, now) = (Cage::own(), store.ids().now().as_ms());
        known.retain(|known| known.may_live(cage.view, now));
        let (living, unseen) = known.into_iter().partition(|known| known.cage.view == cage.view);
        Self { living, unseen, cage }
    }
}

impl Hosts {
    /// What nobody but Twining wrote.
    fn sealed(store: &Store) -> Self {
        let note = store.sealed(NOTE).ok().flatten();
        note.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

fn name_aside(project: &Project) -> String {
    format!("{ASIDE}{}", mark_of(&project.located.place.project))
}

fn shown(name: &str) -> String {
    text::excerpt(&text::visible(name).replace('\n', " "), 40)
}
