//! Guards as they were compiled, so that a hook need not read a thousand rules
//! again to ask three of them. What is kept was loaded and tried before; whoever
//! keeps it must see to it that nobody else can write there.
//!
//! Each guard is one stretch of bytes. In front stands what tells whether it could
//! speak at all: how its paths begin, and which programs it watches. Only those
//! that could are read whole.

use crate::governance::UserPolicy;
use crate::governance::policy::{Layer, Source};
use crate::guards::builtin;
use crate::guards::bytes::{Reader, Writer};
use crate::guards::event::Moment;
use crate::guards::judge::Guards;
use crate::guards::look::Look;
use crate::guards::path::Paths;
use crate::guards::rule::{Guard, Kind, Level, Standing, When, Who};

/// Changes whenever a byte would mean something else.
const FORM: usize = 3;

const LAYERS: [Layer; 3] = [Layer::Default, Layer::User, Layer::Project];
const LEVELS: [Level; 4] = [Level::Off, Level::Warn, Level::Ask, Level::Block];
const KINDS: [Kind; 9] =
    [Kind::Declared, Kind::Tested, Kind::Policy, Kind::Wiring, Kind::Reads, Kind::Returns, Kind::Person, Kind::Claimed, Kind::Clause];

impl Guards {
    /// What is kept of them. Examples are not: they were tried.
    #[must_use]
    pub fn to_compiled(&self) -> Vec<u8> {
        let mut kept = Writer::default();
        kept.number(FORM);
        kept.number(self.guards.len());
        for guard in &self.guards {
            let mut one = Writer::default();
            write_chances(guard, &mut one);
            write(guard, &mut one);
            kept.part(&one.into_bytes());
        }
        kept.into_bytes()
    }

    /// The guards as they were kept; none if they are of another form.
    #[must_use]
    pub fn from_compiled(bytes: &[u8], user: &UserPolicy) -> Option<Self> {
        read_kept(bytes, user, |_| Some(true))
    }

    /// Of the guards that were kept, those that could say something to an event.
    /// Their judgement is that of all, but for the silence of the others.
    #[must_use]
    pub fn from_compiled_for(bytes: &[u8], user: &UserPolicy, look: &Look) -> Option<Self> {
        read_kept(bytes, user, |chances| could_speak(chances, look))
    }
}

fn read_kept(bytes: &[u8], user: &UserPolicy, wanted: impl Fn(&mut Reader<'_>) -> Option<bool>) -> Option<Guards> {
    let mut kept = Reader::new(bytes);
    if kept.number()? != FORM {
        return None;
    }
    let count = kept.number()?;
    let mut guards = Vec::new();
    for _ in 0..count {
        let mut one = Reader::new(kept.part()?);
        let mut chances = Reader::new(one.part()?);
        if wanted(&mut chances)? {
            guards.push(read(&mut one)?);
        }
    }
    // Something after the last would be somebody else's.
    kept.is_empty().then(|| Guards::of(guards, user.clone()))
}

/// What tells from afar whether a guard could speak: nothing if that cannot be told.
fn write_chances(guard: &Guard, kept: &mut Writer) {
    let mut chances = Writer::default();
    // The rest watches what only it knows, or is given more paths later.
    let is_plain = guard.kind == Kind::Declared && guard.source.layer != Layer::Default && guard.id != builtin::STATE;
    if is_plain {
        let programs = guard.when.commands.iter().filter_map(|wanted| wanted.first());
        chances.texts(&programs.map(String::as_str).collect::<Vec<_>>());
        let begins: Vec<String> = guard.paths.globs().iter().map(|glob| fixed_beginning(glob)).collect();
        chances.texts(&begins.iter().map(String::as_str).collect::<Vec<_>>());
    }
    kept.part(&chances.into_bytes());
}

fn could_speak(chances: &mut Reader<'_>, look: &Look) -> Option<bool> {
    if chances.is_empty() {
        return Some(true);
    }
    // One with no such words is about all of them.
    let mut any = |is: &dyn Fn(&str) -> bool| {
        let count = chances.number()?;
        let mut found = count == 0;
        for _ in 0..count {
            found |= is(chances.text()?);
        }
        Some(found)
    };
    let (runs, comes_near) = (any(&|program| look.runs(program))?, any(&|place| look.comes_near(place))?);
    Some(runs && comes_near)
}

/// A glob up to its first part that stands for others, as paths are spelt.
fn fixed_beginning(glob: &str) -> String {
    let parts = glob.split('/').filter(|part| !part.is_empty());
    let fixed: Vec<&str> = parts.take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
    let lead = if glob.starts_with('/') { "/" } else { "" };
    format!("{lead}{}", fixed.join("/"))
}

fn write(guard: &Guard, kept: &mut Writer) {
    fn at<T: PartialEq>(all: &[T], one: &T) -> usize {
        all.iter().position(|known| known == one).unwrap_or_default()
    }
    let place = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    kept.text(&guard.id);
    kept.number(at(&LAYERS, &guard.source.layer));
    kept.text(&place(guard.source.line));
    kept.text(&place(guard.source.column));
    kept.number(at(&LEVELS, &guard.action));
    kept.number(at(&LEVELS, &guard.on_error));
    kept.number(at(&KINDS, &guard.kind));
    kept.number(usize::from(guard.proposed));
    kept.text(&guard.say);
    kept.text(&guard.next_step);
    kept.optional(if let Standing::Dead(why) = &guard.standing { Some(why) } else { None });
    kept.optional(guard.origin.as_deref());
    kept.optional(guard.verify.as_deref());
    kept.number(guard.moments.len());
    guard.moments.iter().for_each(|moment| kept.number(at(&Moment::ALL, moment)));
    kept.texts(&guard.tools);
    kept.texts(guard.paths.globs());
    kept.texts(guard.except.globs());
    kept.number(guard.when.commands.len());
    guard.when.commands.iter().for_each(|words| kept.texts(words));
    kept.texts(&guard.when.adds);
    kept.texts(&guard.when.removes);
    kept.number(guard.when.by.len());
    for who in &guard.when.by {
        let (is, named) = match who {
            Who::Main => (0, ""),
            Who::Subagent => (1, ""),
            Who::Kind(kind) => (2, kind.as_str()),
        };
        kept.number(is);
        kept.text(named);
    }
}

fn read(kept: &mut Reader<'_>) -> Option<Guard> {
    fn of<T: Copy>(all: &[T], kept: &mut Reader<'_>) -> Option<T> {
        all.get(kept.number()?).copied()
    }
    fn place(kept: &mut Reader<'_>) -> Option<Option<u64>> {
        let told = kept.text()?;
        if told.is_empty() { Some(None) } else { told.parse().ok().map(Some) }
    }
    // In the order they were written.
    Some(Guard {
        id: kept.text()?.to_owned(),
        source: Source { layer: of(&LAYERS, kept)?, line: place(kept)?, column: place(kept)? },
        action: of(&LEVELS, kept)?,
        on_error: of(&LEVELS, kept)?,
        kind: of(&KINDS, kept)?,
        proposed: kept.number()? == 1,
        say: kept.text()?.to_owned(),
        next_step: kept.text()?.to_owned(),
        standing: kept.optional()?.map_or(Standing::Alive, Standing::Dead),
        origin: kept.optional()?,
        verify: kept.optional()?,
        moments: kept.several(|kept| of(&Moment::ALL, kept))?,
        tools: kept.owned_texts()?,
        paths: Paths::compile(&kept.owned_texts()?).ok()?,
        except: Paths::compile(&kept.owned_texts()?).ok()?,
        when: When {
            commands: kept.several(Reader::owned_texts)?,
            adds: kept.owned_texts()?,
            removes: kept.owned_texts()?,
            by: kept.several(|kept| {
                let (is, named) = (kept.number()?, kept.text()?);
                [Who::Main, Who::Subagent, Who::Kind(named.to_owned())].into_iter().nth(is)
            })?,
        },
        examples: Vec::new(),
    })
}
