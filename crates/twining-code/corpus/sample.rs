//! A store of keys.
use std::{collections::HashMap, fmt};

/// A key. /* not */ more
#[derive(Clone, Debug)]
pub struct Key<'a, T: 'a> { name: &'a str, value: Option<T>, }

pub(crate) const LIMIT: usize = 0x1_000;
static mut COUNT: u8 = b'\'';

impl<'a, T> Key<'a, T> where T: fmt::Debug {
    #[inline]
    pub unsafe fn read(&self) -> Result<u8, Box<dyn std::error::Error>> {
        let text = r#"raw "text" # here"#; /* nested /* comment */ */
        match self.value { Some(ref v) if v == 'x' => {}, None => { fn inner() {} } _ => 1.5e3 }
        'outer: loop { break 'outer; }
    }
}
trait Store { type Item; fn get(&self, key: &str) -> Self::Item; }
macro_rules! pairs { ($($k:expr => $v:expr),* $(,)?) => {{ HashMap::from([$(($k, $v)),*]) }}; }
mod tests { use super::*; #[test] fn empty() { assert_eq!(pairs!("a" => 1).len(), 1); } }
