//! Who calls, and the mark each of their writes carries.

use twining_model::{IdSource, InvalidInput, Origin, Time, Trust, text};

use crate::secrets::redact_name;

/// What a caller is called who gives no name.
const UNNAMED: &str = "main";

/// Who calls: what they call themselves, beside what the server knows of them.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The name records carry when a call gives none.
    pub agent: String,
    /// What the server knows.
    pub origin: Origin,
}

impl Caller {
    /// This caller under the name it gives itself in one call.
    pub fn called(&self, agent_id: Option<&str>) -> Result<Self, InvalidInput> {
        let agent = match agent_id {
            Some(name) => Self::name("agent_id", name)?,
            None => without_secret("agent", &self.agent)?.to_owned(),
        };
        Ok(Self { agent, origin: self.origin.clone() })
    }

    /// This caller, unless the name it came with holds a secret.
    pub fn fit(self) -> Result<Self, InvalidInput> {
        without_secret("agent", &self.agent)?;
        Ok(self)
    }

    /// The name of the person who calls, if one does and said who they are.
    pub(crate) fn person(&self) -> Option<&str> {
        let is_named = self.origin.trust == Trust::Human && self.agent != UNNAMED;
        is_named.then_some(self.agent.as_str())
    }

    /// Takes an agent's name. What cannot be seen in it is spelled out: two names
    /// that differ by nothing a person can see would be one agent to everybody.
    pub(crate) fn name(field: &'static str, given: &str) -> Result<String, InvalidInput> {
        let name = text::name(field, given).map(|name| text::visible(&name))?;
        without_secret(field, &name)?;
        Ok(name)
    }
}

fn without_secret<'a>(field: &'static str, name: &'a str) -> Result<&'a str, InvalidInput> {
    if redact_name(name).1.is_empty() {
        return Ok(name);
    }
    Err(InvalidInput::new(field, "must not contain a secret")
        .because("it would appear in every record of this agent"))
}

/// What a plan may know of the world: the time, a source of ids, and who asks.
#[derive(Clone, Copy, Debug)]
pub struct Stamp<'a> {
    /// When.
    pub at: Time,
    /// Where new ids come from.
    pub ids: &'a IdSource,
    /// Who.
    pub caller: &'a Caller,
}
