//! Who calls, and the mark each of their writes carries.

use twining_model::{IdSource, Origin, Refused, Time, text};

use crate::hygiene::secrets_in;

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
    pub fn called(&self, agent_id: Option<&str>) -> Result<Self, Refused> {
        let agent = agent_id.map_or_else(|| Ok(self.agent.clone()), |name| Self::name("agent_id", name))?;
        Ok(Self { agent, origin: self.origin.clone() })
    }

    /// Takes an agent's name. What cannot be seen in it is spelled out: two names
    /// that differ by nothing a person can see would be one agent to everybody.
    pub(crate) fn name(field: &'static str, given: &str) -> Result<String, Refused> {
        let name = text::name(field, given).map(|name| text::visible(&name))?;
        if !secrets_in(&name).is_empty() {
            return Err(Refused::new(field, "must not hold a secret").because("it would stand in every record of this agent"));
        }
        Ok(name)
    }
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
