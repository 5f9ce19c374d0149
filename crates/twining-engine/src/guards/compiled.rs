//! Guards as they were compiled, so that a hook need not read a thousand rules
//! again to ask three of them. What is kept was loaded and tried before; whoever
//! keeps it must see to it that nobody else can write there.

use serde::{Deserialize, Serialize};

use crate::governance::UserPolicy;
use crate::governance::policy::{Layer, Source};
use crate::guards::event::Moment;
use crate::guards::judge::Guards;
use crate::guards::path::Paths;
use crate::guards::rule::{Guard, Kind, Level, Standing, When};

/// Changes whenever a row would mean something else.
const FORM: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    guards: Vec<Row>,
}

/// What most guards do not have is left out: less to read is quicker to read.
#[derive(Serialize, Deserialize)]
struct Row {
    id: String,
    layer: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    action: Level,
    say: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    next: String,
    on_error: Level,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dead: Option<String>,
    kind: Kind,
    moments: Vec<Moment>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    except: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<When>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    proposed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verify: Option<String>,
}

const LAYERS: [Layer; 3] = [Layer::Default, Layer::User, Layer::Project];

impl Guards {
    /// What is kept of them. Examples are not: they were tried.
    #[must_use]
    pub fn to_compiled(&self) -> Vec<u8> {
        let rows = self.guards.iter().map(|guard| Row {
            id: guard.id.clone(),
            layer: LAYERS.iter().position(|layer| *layer == guard.source.layer).and_then(|at| u8::try_from(at).ok()).unwrap_or_default(),
            line: guard.source.line,
            action: guard.action,
            say: guard.say.clone(),
            next: guard.next_step.clone(),
            on_error: guard.on_error,
            dead: if let Standing::Dead(why) = &guard.standing { Some(why.clone()) } else { None },
            kind: guard.kind,
            moments: guard.moments.clone(),
            tools: guard.tools.clone(),
            paths: guard.paths.globs().to_vec(),
            except: guard.except.globs().to_vec(),
            when: (guard.when != When::default()).then(|| guard.when.clone()),
            proposed: guard.proposed,
            origin: guard.origin.clone(),
            verify: guard.verify.clone(),
        });
        serde_json::to_vec(&Kept { form: FORM, guards: rows.collect() }).unwrap_or_default()
    }

    /// The guards as they were kept; none if they are of another form.
    #[must_use]
    pub fn from_compiled(bytes: &[u8], user: &UserPolicy) -> Option<Self> {
        let kept: Kept = serde_json::from_slice(bytes).ok()?;
        if kept.form != FORM {
            return None;
        }
        let guards: Option<Vec<Guard>> = kept
            .guards
            .into_iter()
            .map(|row| {
                Some(Guard {
                    id: row.id,
                    source: Source { layer: *LAYERS.get(usize::from(row.layer))?, line: row.line },
                    action: row.action,
                    say: row.say,
                    next_step: row.next,
                    on_error: row.on_error,
                    standing: row.dead.map_or(Standing::Alive, Standing::Dead),
                    kind: row.kind,
                    moments: row.moments,
                    tools: row.tools,
                    paths: Paths::compile(&row.paths).ok()?,
                    except: Paths::compile(&row.except).ok()?,
                    when: row.when.unwrap_or_default(),
                    examples: Vec::new(),
                    proposed: row.proposed,
                    origin: row.origin,
                    verify: row.verify,
                })
            })
            .collect();
        Some(Self::of(guards?, user.clone()))
    }
}
