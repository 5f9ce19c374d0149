//! A feature list read once, as it comes: which of its objects say that they are
//! tested. No tree is built, since a hook waits for this on every edit of a list.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Fields that name a feature, the best first.
const NAMES: [&str; 8] = ["id", "feature_id", "featureId", "key", "description", "name", "title", "feature"];
/// How many of them are ids. One that has none is called by its key in a map, as
/// the workflow calls it: a run is recorded under that name.
const IDS: usize = 4;

/// Words that lists use for it.
const WORDS: [&str; 5] = ["tested", "verified", "validated", "passed", "passing"];

/// The features a list calls tested. Bounded by the parser, which refuses more than
/// 128 levels.
pub(super) fn read(text: &str) -> Result<BTreeSet<String>, serde_json::Error> {
    let mut tested = BTreeSet::new();
    let mut list = serde_json::Deserializer::from_str(text);
    ValueReader { place: None, in_tested: false, items_in_tested: false, wants_name: false, tested: &mut tested }.deserialize(&mut list)?;
    list.end()?;
    Ok(tested)
}

/// Where a value stands; told only for one that has no name.
struct Place<'p> {
    outer: Option<&'p Place<'p>>,
    step: Step<'p>,
}

enum Step<'p> {
    Key(&'p str),
    At(usize),
}

impl Place<'_> {
    fn path(&self) -> String {
        let outer = self.outer.map(Place::path).unwrap_or_default();
        match self.step {
            Step::Key(key) if outer.is_empty() => key.to_owned(),
            Step::Key(key) => format!("{outer}.{key}"),
            Step::At(at) => format!("{outer}[{at}]"),
        }
    }
}

/// A value about to be read.
struct ValueReader<'p, 'f> {
    place: Option<&'p Place<'p>>,
    /// Whether it stands in a bucket of tested features.
    in_tested: bool,
    /// Whether its items do, if it has any.
    items_in_tested: bool,
    /// Whether its text names what it belongs to.
    wants_name: bool,
    tested: &'f mut BTreeSet<String>,
}

/// What the object around a value needs to know of it.
#[derive(Default)]
struct Seen<'de> {
    is_yes: bool,
    says_tested: bool,
    name: Option<Cow<'de, str>>,
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_, '_> {
    type Value = Seen<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Seen<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl ValueReader<'_, '_> {
    fn number<'de>(&self, is_one: bool, shown: impl fmt::Display) -> Seen<'de> {
        Seen { is_yes: is_one, name: self.wants_name.then(|| Cow::Owned(shown.to_string())), ..Seen::default() }
    }

    fn text<'de>(self, text: &str, name: impl FnOnce() -> Cow<'de, str>) -> Seen<'de> {
        if self.in_tested {
            self.tested.insert(text.to_owned());
        }
        let word = text.trim();
        let is = |wanted: &str| word.eq_ignore_ascii_case(wanted);
        let is_yes = is("true") || is("yes") || is("1");
        Seen { is_yes, says_tested: WORDS.iter().any(|word| is(word)), name: self.wants_name.then(name) }
    }
}

impl<'de> Visitor<'de> for ValueReader<'_, '_> {
    type Value = Seen<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a feature list")
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<Seen<'de>, E> {
        Ok(Seen { is_yes: yes, ..Seen::default() })
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<Seen<'de>, E> {
        Ok(self.number(n == 1, n))
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<Seen<'de>, E> {
        Ok(self.number(n == 1, n))
    }

    fn visit_f64<E: Error>(self, n: f64) -> Result<Seen<'de>, E> {
        Ok(self.number(n == 1.0, n))
    }

    fn visit_unit<E: Error>(self) -> Result<Seen<'de>, E> {
        Ok(Seen::default())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Seen<'de>, E> {
        Ok(self.text(text, || Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Seen<'de>, E> {
        Ok(self.text(text, || Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Seen<'de>, A::Error> {
        let mut at = 0;
        loop {
            let place = Place { outer: self.place, step: Step::At(at) };
            let item = ValueReader {
                place: Some(&place),
                in_tested: self.items_in_tested,
                items_in_tested: self.items_in_tested,
                wants_name: false,
                tested: &mut *self.tested,
            };
            if items.next_element_seed(item)?.is_none() {
                return Ok(Seen::default());
            }
            at += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Seen<'de>, A::Error> {
        let mut says = false;
        let mut names: [Option<Cow<'de, str>>; NAMES.len()] = Default::default();
        while let Some(key) = fields.next_key_seed(Key)? {
            let word = key.trim();
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            let is_bucket = key.eq_ignore_ascii_case("tested");
            let naming = NAMES.iter().position(|name| *name == &*key);
            let place = Place { outer: self.place, step: Step::Key(&key) };
            let value = ValueReader {
                place: Some(&place),
                in_tested: false,
                items_in_tested: is_bucket,
                wants_name: naming.is_some(),
                tested: &mut *self.tested,
            };
            let seen = fields.next_value_seed(value)?;
            says |= ((is("tested") || is("passes")) && seen.is_yes) || ((is("status") || is("state")) && seen.says_tested);
            if let Some(naming) = naming {
                names[naming] = seen.name;
            }
        }
        if says || self.in_tested {
            let key = self.place.and_then(|place| if let Step::Key(key) = place.step { Some(key.to_owned()) } else { None });
            let (ids, others) = names.split_at_mut(IDS);
            let first = |names: &mut [Option<Cow<'de, str>>]| {
                names.iter_mut().find_map(|name| name.take().filter(|name| !name.trim().is_empty())).map(Cow::into_owned)
            };
            let name = first(ids).or(key).or_else(|| first(others));
            if says || name.is_some() {
                self.tested.insert(name.unwrap_or_else(|| self.place.map(Place::path).unwrap_or_default()));
            }
        }
        Ok(Seen::default())
    }
}

/// A key, borrowed from the text wherever it is written plainly.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}
