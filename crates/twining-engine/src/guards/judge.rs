//! All guards of a project, and what they say to an event: the strictest holds.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::limits;
use twining_store::PolicyFile;

use crate::governance::UserPolicy;
use crate::governance::policy::{Layer, Mistake, PROJECT_FILE};
use crate::guards::change::{Becomes, Files, Proposal, Touched, Where};
use crate::guards::event::{Action, Event};
use crate::guards::look::Look;
use crate::guards::rule::{Guard, Kind, Level, Said, Standing};
use crate::guards::seams::{Claims, Clauses, Evidence, Proof};
use crate::guards::stop::KnownList;
use crate::guards::{builtin, claims, clause, features, git_wiring, normal, person, reader, unread};

/// Features that are named where some are gone.
const MOST_NAMED: usize = 5;

/// What one guard says, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Which guard.
    pub guard: String,
    /// Where it comes from.
    pub source: String,
    /// What it does.
    pub verdict: Level,
    /// What it saw.
    pub why: String,
    /// What it says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub say: String,
    /// What to do instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_step: String,
    /// The command that decides, where it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
}

/// A command that a guard wants to be run before it speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verify {
    /// The text of it, which a person has to allow.
    pub command: String,
    /// What the guard does where it is not run.
    pub unverified: Level,
}

/// What all guards say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Judgement {
    /// The strictest.
    pub verdict: Level,
    /// Every guard's answer, in order.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// The guards that speak, the strictest first.
    pub fn spoken(&self) -> impl Iterator<Item = &Finding> {
        [Level::Block, Level::Ask, Level::Warn]
            .into_iter()
            .flat_map(|level| self.findings.iter().filter(move |finding| finding.verdict == level))
    }

    /// Weighs what guards said once more, by what only the rim knows: a bypass, a
    /// command that was run. What is answered takes a finding's place.
    #[must_use]
    pub fn weighed(mut self, weigh: &mut dyn FnMut(&Finding) -> Option<(Level, String)>) -> Self {
        for finding in self.findings.iter_mut().filter(|finding| finding.verdict > Level::Off) {
            if let Some((level, why)) = weigh(finding) {
                (finding.verdict, finding.why) = (level, why);
            }
        }
        self.verdict = self.findings.iter().map(|finding| finding.verdict).max().unwrap_or_default();
        self
    }

    /// Puts what only the rim knows in place of what a guard could say by itself.
    #[must_use]
    pub fn knowing(mut self, guard: &str, verdict: Level, why: &str) -> Self {
        for finding in self.findings.iter_mut().filter(|finding| finding.guard == guard && !finding.why.starts_with("dead: ")) {
            (finding.verdict, finding.why) = (verdict, why.to_owned());
        }
        self.verdict = self.findings.iter().map(|finding| finding.verdict).max().unwrap_or_default();
        self
    }

    /// What a hook answers to an event that it cannot make sense of.
    #[must_use]
    pub fn unheard(mut self, why: &str) -> Self {
        let (guard, source, say) = ("hook".to_owned(), "built in".to_owned(), "what nobody understands is not let through".to_owned());
        let finding = Finding { guard, source, verdict: Level::Block, why: why.to_owned(), say, next_step: String::new(), verify: None };
        self.findings.insert(0, finding);
        self.verdict = Level::Block;
        self
    }

    /// What is told to the agent.
    #[must_use]
    pub fn reason(&self) -> String {
        let told = self.spoken().take(5).map(|finding| {
            let next =
                if finding.next_step.is_empty() { String::new() } else { format!(" Next: {}.", finding.next_step.trim_end_matches('.')) };
            // One line each: no guard's text can write the next one's.
            format!("[{}] {} ({}).{next}", finding.guard, finding.say, finding.why).replace(['\n', '\r'], " ")
        });
        twining_model::text::visible(&told.collect::<Vec<_>>().join("\n"))
    }
}

/// What guards may ask about.
pub struct Facts<'a> {
    /// The project's root, absolute.
    pub root: &'a str,
    /// Its files.
    pub files: &'a dyn Files,
    /// Whether a feature's test ran.
    pub evidence: &'a dyn Evidence,
    /// What others work on.
    pub claims: &'a dyn Claims,
}

/// The guards that hold in a project.
#[derive(Clone, Debug)]
pub struct Guards {
    /// All of them, dead ones too.
    pub guards: Vec<Guard>,
    /// What was wrong with the files.
    pub mistakes: Vec<Mistake>,
    user: UserPolicy,
}

/// Whether a guard's examples are tried while it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Each is.
    Tried,
    /// They were, on exactly these texts.
    KnownGood,
}

impl Guards {
    /// Puts the layers together. The user's file may change what is compiled in;
    /// the project's may only add guards and make them stricter.
    #[must_use]
    pub fn load(user: &UserPolicy, project: &PolicyFile, clauses: &dyn Clauses, trial: Trial) -> Self {
        let mut all = Self { guards: builtin::guards(), mistakes: Vec::new(), user: user.clone() };
        all.lay(Layer::User, &user.name, &user.file, trial);
        all.lay(Layer::Project, PROJECT_FILE, project, trial);
        all.bind(clauses);
        if trial == Trial::Tried {
            for guard in all.guards.iter_mut().filter(|guard| guard.standing == Standing::Alive) {
                if let Err(why) = try_examples(guard) {
                    guard.standing = Standing::Dead(why);
                }
            }
        }
        all
    }

    /// One guard by itself, at least warning: what it would say, whatever it does.
    #[must_use]
    pub fn alone(guard: &Guard) -> Self {
        let guard = Guard { examples: Vec::new(), action: guard.action.max(Level::Warn), ..guard.clone() };
        Self { guards: vec![guard], mistakes: Vec::new(), user: UserPolicy::default() }
    }

    pub(super) fn of(guards: Vec<Guard>, user: UserPolicy) -> Self {
        Self { guards, mistakes: Vec::new(), user }
    }

    /// Only what decisions and knowledge rule out.
    #[must_use]
    pub fn of_clauses(clauses: &dyn Clauses) -> Self {
        let mut all = Self::of(Vec::new(), UserPolicy::default());
        all.bind(clauses);
        all
    }

    /// Adds what decisions and knowledge rule out.
    pub fn bind(&mut self, clauses: &dyn Clauses) {
        for clause in clauses.clauses() {
            match clause.into_guard() {
                Ok(guard) => self.guards.push(guard),
                Err(why) => self.mistakes.push(Mistake::whole("a decision's clause", &why)),
            }
        }
    }

    /// Also keeps agents away from these folders, which are outside the project:
    /// the user's own settings, and what is kept of them.
    pub fn protect(&mut self, folders: &[String]) {
        let globs: Vec<String> = folders.iter().flat_map(|folder| clause::globs_of(folder)).collect();
        for guard in self.guards.iter_mut().filter(|guard| guard.id == builtin::STATE) {
            guard.paths.add_plain(globs.iter().cloned());
        }
    }

    /// What a guard would have said to a file that is now another than it was when
    /// it was last accepted: some ways to change a file are seen only afterwards.
    #[must_use]
    pub fn slipped(&self, path: &str, before: &str, after: Option<&str>, evidence: &dyn Evidence) -> Option<String> {
        self.comparing(path).find_map(|guard| {
            let why = match guard.kind {
                Kind::Tested => untested(before, after?, evidence),
                Kind::Policy => self.milder(before, after.unwrap_or_default()),
                _ => unwired(before, after.unwrap_or_default()),
            }?;
            Some(format!("[{}] `{path}` was changed: {why}", guard.id))
        })
    }

    /// What a feature list no longer holds of what it held when it was last accepted.
    #[must_use]
    pub fn lost(&self, path: &str, known: &BTreeSet<String>, after: Option<&str>) -> Option<String> {
        let guard = self.comparing(path).find(|guard| guard.kind == Kind::Tested)?;
        let listed = after.map(features::listed).unwrap_or_default();
        let gone: Vec<&String> = known.difference(&listed).collect();
        let named = gone.iter().take(MOST_NAMED).map(|id| twining_model::text::excerpt(id, 60)).collect::<Vec<_>>().join(", ");
        let more = if gone.len() > MOST_NAMED { format!(" and {} more", gone.len() - MOST_NAMED) } else { String::new() };
        match after {
            _ if gone.is_empty() => None,
            None => Some(format!("[{}] `{path}` is gone, and with it {named}{more}", guard.id)),
            Some(_) => Some(format!("[{}] `{path}` was changed: {named}{more} is no longer in it", guard.id)),
        }
    }

    /// Features of our own list that another hand moved, by the rule that holds before
    /// a tool runs: how far one is, only a report says.
    #[must_use]
    pub fn moved(&self, path: &str, known: &KnownList, after: Option<&str>, evidence: &dyn Evidence) -> Option<String> {
        let holds = |guard: &Guard| guard.id == builtin::STATE && guard.action == Level::Block && guard.standing == Standing::Alive;
        let known_standing = known.standing.as_ref().filter(|_| path == builtin::OWN_LIST && self.guards.iter().any(holds))?;
        let moved = features::moved_by_another(known_standing, known.at, after?, evidence);
        let more = if moved.len() > MOST_NAMED { format!(" and {} more", moved.len() - MOST_NAMED) } else { String::new() };
        let named = moved.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        (!moved.is_empty()).then(|| format!("[{}] `{path}` was changed by another hand than Twining's: {named}{more}", builtin::STATE))
    }

    /// Whether a file is compared with what was last accepted.
    #[must_use]
    pub fn compares(&self, path: &str) -> bool {
        self.comparing(path).next().is_some()
    }

    fn comparing<'g>(&'g self, path: &'g str) -> impl Iterator<Item = &'g Guard> {
        self.guards.iter().filter(move |guard| {
            matches!(guard.kind, Kind::Tested | Kind::Policy | Kind::Wiring)
                && guard.action >= Level::Ask
                && guard.standing == Standing::Alive
                && guard.paths.name(path)
        })
    }

    fn lay(&mut self, layer: Layer, name: &str, file: &PolicyFile, trial: Trial) {
        let text = match file {
            PolicyFile::Missing => return,
            PolicyFile::Unusable(why) => {
                let mistake = Mistake::whole(name, why);
                self.hold_unread(layer, &mistake);
                return self.mistakes.push(mistake);
            }
            PolicyFile::Text(text) => text,
        };
        let page = reader::read(text, name, &mut self.mistakes);
        if let Some(mistake) = &page.unread {
            self.hold_unread(layer, mistake);
        }
        let mut seen = BTreeSet::new();
        for written in page.guards {
            let is_again = !seen.insert(written.id.clone());
            let known = self.guards.iter().position(|guard| guard.id == written.id);
            let builtin = known.filter(|at| self.guards[*at].kind != Kind::Declared || self.guards[*at].source.layer == Layer::Default);
            let compiled = reader::compile(&written, layer, builtin.map(|at| &self.guards[at]), trial);
            let mut tell = |message: String| {
                self.mistakes.push(Mistake { file: name.to_owned(), line: written.line, column: 1, message, suggestion: None });
            };
            match (compiled, known) {
                (Err(why), _) => tell(format!("the guard `{}` is left out: {why}", twining_model::text::excerpt(&written.id, 40))),
                // Whichever of the two was meant: the other may be a mistake, and must not take it away.
                (Ok(guard), Some(_)) if is_again => {
                    tell(format!("`{}` stands here twice; both hold, and the stricter answer counts", guard.id));
                    self.guards.push(guard);
                }
                // A person's own file says what holds for them.
                (Ok(guard), Some(at)) if layer == Layer::User => self.guards[at] = guard,
                (Ok(guard), Some(at)) => {
                    if guard.action < self.guards[at].action {
                        tell(format!(
                            "`{}` is {} already, and a project can only make it stricter",
                            guard.id,
                            self.guards[at].action.as_str()
                        ));
                    }
                    // It stands beside the one it cannot replace.
                    if guard.action > Level::Off {
                        self.guards.push(guard);
                    }
                }
                (Ok(guard), None) => self.guards.push(guard),
            }
        }
    }

    /// Puts what holds instead of guards that cannot be read in their place.
    fn hold_unread(&mut self, layer: Layer, mistake: &Mistake) {
        if layer == Layer::Project {
            self.guards.extend(unread::guards(mistake));
        }
    }

    /// What is told of a project's policy whose guards cannot be read.
    #[must_use]
    pub fn unread(&self) -> Option<String> {
        let guard = self.guards.iter().find(|guard| guard.id == unread::CHANGES && guard.source.layer == Layer::Default)?;
        Some(format!("[{}] {}. Until then nothing else is changed. Next: {}", guard.id, guard.say, guard.next_step))
    }

    /// Asks every guard.
    #[must_use]
    pub fn judge(&self, event: &Event, facts: &Facts<'_>) -> Judgement {
        self.judge_seen(event, &Look::at(event, facts.root, facts.files), facts)
    }

    /// The same for an event that was looked at before.
    #[must_use]
    pub fn judge_seen(&self, event: &Event, look: &Look, facts: &Facts<'_>) -> Judgement {
        let asked: Vec<&Guard> = self
            .guards
            .iter()
            .filter(|guard| guard.action > Level::Off && guard.standing == Standing::Alive && guard.is_asked(event))
            .collect();
        let findings: Vec<Finding> = asked
            .into_iter()
            .map(|guard| {
                let said = match &look.touched {
                    Ok(touched) => self.said(guard, event, touched, facts),
                    Err(_) if guard.kind == Kind::Reads => Said::nothing("it is no reading"),
                    Err(_) if guard.kind == Kind::Returns => Said::nothing("judged when a subagent returns"),
                    Err(why) => Said { level: guard.on_error, why: format!("{why}; it cannot be judged, so `on_error` holds") },
                };
                finding(guard, said)
            })
            .collect();
        Judgement { verdict: findings.iter().map(|finding| finding.verdict).max().unwrap_or_default(), findings }
    }

    /// The same with a line for guards that were not asked.
    #[must_use]
    pub fn explain(&self, event: &Event, facts: &Facts<'_>) -> Judgement {
        let mut judgement = self.judge(event, facts);
        for guard in &self.guards {
            let why = match (&guard.standing, guard.action) {
                (Standing::Dead(why), _) => format!("dead: {why}"),
                (_, Level::Off) => "off".to_owned(),
                _ if !guard.is_asked(event) => "not asked at this event or about this tool".to_owned(),
                _ => continue,
            };
            judgement.findings.push(finding(guard, Said::nothing(why)));
        }
        judgement
    }

    fn said(&self, guard: &Guard, event: &Event, touched: &Touched, facts: &Facts<'_>) -> Said {
        match guard.kind {
            Kind::Declared if guard.id == builtin::STATE => of_state(guard, event, touched),
            Kind::Declared if guard.id == unread::COMMANDS && guard.source.layer == Layer::Default => unread::of_commands(guard, touched),
            Kind::Declared => guard.declared(event, touched),
            Kind::Reads => match touched
                .reads
                .iter()
                .find(|path| matches!(event.action, Action::Read(_) | Action::ReadMany(_)) && guard.paths.name(path))
            {
                Some(path) => Said { level: guard.action, why: format!("`{path}` is read whole") },
                None => Said::nothing("no log is read"),
            },
            Kind::Returns => Said::nothing("judged when a subagent returns"),
            Kind::Person => person::said(guard, touched),
            Kind::Claimed => claims::said(guard, touched, facts),
            Kind::Clause => {
                let used = guard.concerned(touched).find_map(|proposal| {
                    let now = |path: &str| facts.files.read(&normal(facts.root, path)).ok().flatten();
                    let item = clause::brought_in(&guard.when.adds, proposal, &touched.texts, now)?;
                    Some(guard.sure(proposal, format!("`{}` would use `{}`", proposal.place(), twining_model::text::excerpt(item, 80))))
                });
                used.unwrap_or_else(|| Said::nothing("nothing that is ruled out is brought in"))
            }
            Kind::Tested | Kind::Policy | Kind::Wiring => {
                let ours = guard.concerned(touched).filter(|proposal| guard.kind != Kind::Tested || !proposal.is_nobodys);
                let judged = ours.filter_map(|proposal| self.of_change(guard, proposal, facts));
                let run = if guard.kind == Kind::Wiring { git_wiring::said(guard, touched, facts) } else { None };
                judged.chain(run).max_by_key(|said| said.level).unwrap_or_else(|| Said::nothing("nothing of its is changed for the worse"))
            }
        }
    }

    fn of_change(&self, guard: &Guard, proposal: &Proposal, facts: &Facts<'_>) -> Option<Said> {
        if guard.kind == Kind::Wiring && git_wiring::is_hook(proposal) && !git_wiring::has_ours(proposal, facts) {
            return None;
        }
        let (before, after) = match &*proposal.becomes {
            Becomes::Text { before, after } => (before.as_deref().unwrap_or_default(), after.as_deref()),
            Becomes::Unknown(_) if guard.kind == Kind::Tested && features::is_of_none(proposal, facts) => return None,
            Becomes::Unknown(why) => {
                let way = if guard.kind == Kind::Tested {
                    "; make the change with the Edit tool or with twining_features (`twining features update`), so that it can be seen before it is made"
                } else {
                    "; change it with an edit"
                };
                return Some(guard.sure(proposal, format!("what becomes of `{}` cannot be judged: {why}{way}", proposal.place())));
            }
        };
        let bad = match guard.kind {
            // The same answer as to `rm`: what was in it cannot be told from then on.
            Kind::Tested if after.is_none() && !features::listed(before).is_empty() => Some("the feature list would be gone".to_owned()),
            Kind::Tested => untested(before, after?, facts.evidence),
            Kind::Policy => {
                let after = after.unwrap_or_default();
                self.milder(before, after).or_else(|| self.promotes(before, after))
            }
            _ => unwired(before, after.unwrap_or_default()),
        };
        bad.map(|why| guard.sure(proposal, why))
    }

    /// The proposed guard that a new policy would put in force. Asked before a tool
    /// runs alone: afterwards it may have been the person.
    fn promotes(&self, before: &str, after: &str) -> Option<String> {
        let load = |text: &str| Self::load(&self.user, &PolicyFile::Text(text.to_owned()), &super::seams::NoClauses, Trial::Tried).guards;
        let (was, will) = (load(before), load(after));
        let promoted = |new: &&Guard| !new.proposed && was.iter().any(|old| old.proposed && old.id == new.id);
        let promoted = will.iter().find(promoted)?;
        Some(format!("`{}` is proposed, and a person promotes it: `twining guard promote {}`", promoted.id, promoted.id))
    }

    /// What a new policy would no longer stop.
    fn milder(&self, before: &str, after: &str) -> Option<String> {
        let load = |text: &str| Self::load(&self.user, &PolicyFile::Text(text.to_owned()), &super::seams::NoClauses, Trial::Tried);
        // Two policies are compiled to be compared; most of the time they are one.
        if before == after {
            return None;
        }
        let most = limits::POLICY_BYTES;
        if after.len() > most {
            return Some(format!("it would be larger than {most} bytes, and none of its guards would be read"));
        }
        let (was, will) = (load(before), load(after));
        if was.unread().is_some() {
            // Whoever mends it names every guard that stood there, or a person is asked.
            let known = match will.unread() {
                Some(_) => reader::named(after),
                None => will.guards.iter().map(|guard| guard.id.clone()).collect(),
            };
            let gone = reader::named(before).into_iter().find(|id| !known.contains(id));
            return gone.map(|id| format!("`{id}` stands in the broken policy and would be gone"));
        }
        let of_project =
            |guard: &&Guard| guard.source.layer == Layer::Project && guard.action > Level::Off && guard.standing == Standing::Alive;
        let same = |old: &Guard, new: &Guard| {
            let shape = |guard: &Guard| {
                format!("{:?}{:?}{:?}{:?}{:?}{:?}", guard.moments, guard.tools, guard.paths, guard.except, guard.when, guard.verify)
            };
            new.id == old.id && new.action >= old.action && new.on_error >= old.on_error && shape(new) == shape(old)
        };
        was.guards
            .iter()
            .filter(of_project)
            .find(|old| !will.guards.iter().filter(of_project).any(|new| same(old, new)))
            .map(|gone| format!("`{}` would no longer hold as it does", gone.id))
    }
}

/// What the guard of our records says. Features are reworded and added by hand, as
/// in anybody's list; only what moves one is a report's to do.
fn of_state(guard: &Guard, event: &Event, touched: &Touched) -> Said {
    let is_list = |proposal: &&Proposal| matches!(&proposal.at, Where::Known(path) if path == builtin::OWN_LIST);
    if !touched.writes.iter().any(|proposal| is_list(&proposal) || proposal.is_nobodys) {
        return guard.declared(event, touched);
    }
    let mut why = None;
    let writes = touched.writes.iter().filter(|proposal| !proposal.is_nobodys).filter(|proposal| match &*proposal.becomes {
        // A list that is begun so is one to which all of it is added.
        Becomes::Text { before, after: Some(after) } if is_list(proposal) && (before.is_some() || !after.trim().is_empty()) => {
            why = features::moved(before.as_deref().unwrap_or_default(), after);
            why.is_some()
        }
        _ => true,
    });
    let touched = Touched { writes: writes.cloned().collect(), ..touched.clone() };
    let said = guard.declared(event, &touched);
    Said { why: why.filter(|_| said.level > Level::Off).unwrap_or(said.why), ..said }
}

fn finding(guard: &Guard, said: Said) -> Finding {
    let speaks = said.level > Level::Off;
    let told = |text: &str| if speaks { text.to_owned() } else { String::new() };
    Finding {
        guard: guard.id.clone(),
        source: guard.source.to_string(),
        verdict: said.level,
        why: said.why,
        say: told(&guard.say),
        next_step: told(&guard.next_step),
        verify: guard.verify.clone().filter(|_| speaks).map(|command| Verify { command, unverified: guard.on_error }),
    }
}

/// Features that would be called tested and have no proof.
pub(crate) fn untested(before: &str, after: &str, evidence: &dyn Evidence) -> Option<String> {
    if before == after {
        return None;
    }
    match features::newly_tested(before, after) {
        Err(why) => Some(why.to_string()),
        Ok(new) => new.iter().find_map(|feature| match evidence.proof_of(feature) {
            Proof::Recorded(_) => None,
            Proof::Missing(why) => Some(format!("{} would become tested: {why}", twining_model::text::excerpt(feature, 60))),
        }),
    }
}

fn unwired(before: &str, after: &str) -> Option<String> {
    let calls = |text: &str| text.matches("twining").count();
    let off = |text: &str| text.replace([' ', '\t', '\n'], "").contains("\"disableAllHooks\":true");
    if calls(after) < calls(before) {
        return Some("fewer of its lines call twining".to_owned());
    }
    (off(after) && !off(before)).then(|| "it turns all hooks off".to_owned())
}

/// A guard's examples, each tried on the guard alone.
fn try_examples(guard: &Guard) -> Result<(), String> {
    struct OneFile<'a>(Option<&'a str>);
    impl Files for OneFile<'_> {
        fn read(&self, _: &str) -> Result<Option<String>, String> {
            Ok(self.0.map(str::to_owned))
        }
        fn real(&self, path: &str) -> String {
            path.to_owned()
        }
    }
    for (at, example) in guard.examples.iter().enumerate() {
        let mut event = example.event.clone();
        event.moment = guard.moments.first().copied().unwrap_or(event.moment);
        let alone = Guards::alone(guard);
        let files = OneFile(example.file.as_deref());
        let facts = Facts { root: "/project", files: &files, evidence: &super::seams::NoEvidence, claims: &super::seams::NoClaims };
        let speaks = alone.judge(&event, &facts).verdict > Level::Off;
        match (example.is_stopped, speaks) {
            (true, false) => return Err(format!("example {} should be stopped and is not", at + 1)),
            (false, true) => return Err(format!("example {} should be let through and is not", at + 1)),
            _ => {}
        }
    }
    Ok(())
}
