//! The vocabulary: from spelling to number, in a hash table that lies ready in the file.

use crate::layout::{ModelFile, SLOTS};

/// The bytes of the longest piece.
const LONGEST: usize = 18;
/// What pieces that continue a word are spelled with in front.
const CONTINUES: &[u8] = b"##";

/// Where in its word a piece stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordPosition {
    /// At the beginning.
    Start,
    /// After another piece.
    Inside,
}

/// The table, probed in place.
pub struct Vocabulary<'a> {
    /// Number + 1 of the piece in this slot; zero is empty.
    slots: &'a [u16],
    /// Where each piece's spelling ends.
    ends: &'a [u32],
    spellings: &'a [u8],
}

impl<'a> Vocabulary<'a> {
    /// The vocabulary of a model.
    pub fn of(layout: &'a ModelFile) -> Self {
        Self { slots: bytemuck::cast_slice(layout.section(0)), ends: bytemuck::cast_slice(layout.section(1)), spellings: layout.section(2) }
    }

    /// The longest piece that `rest` begins with: its number and its length.
    ///
    /// Bytes, not characters: no piece ends inside a character, so none matches there.
    pub fn longest(&self, rest: &[u8], place: WordPosition) -> Option<(u32, usize)> {
        let mut hashes = [0; LONGEST];
        let mut hash = match place {
            WordPosition::Start => FNV_START,
            WordPosition::Inside => CONTINUES.iter().fold(FNV_START, |hash, &byte| fnv1a(hash, byte)),
        };
        let reach = rest.len().min(LONGEST);
        for (slot, &byte) in hashes.iter_mut().zip(&rest[..reach]) {
            hash = fnv1a(hash, byte);
            *slot = hash;
        }
        (1..=reach).rev().find_map(|length| Some((self.find(hashes[length - 1], &rest[..length], place)?, length)))
    }

    fn find(&self, hash: u32, spelling: &[u8], place: WordPosition) -> Option<u32> {
        let first = hash as usize % SLOTS;
        // At most once around: a forged table may have no empty slot.
        for step in 0..SLOTS {
            let number = u32::from(self.slots[(first + step) % SLOTS]).checked_sub(1)?;
            let found = self.spelling(number)?;
            let same = match place {
                WordPosition::Start => found == spelling,
                WordPosition::Inside => found.strip_prefix(CONTINUES) == Some(spelling),
            };
            if same {
                return Some(number);
            }
        }
        None
    }

    /// How a piece is spelled; none when a forged table leads astray.
    fn spelling(&self, number: u32) -> Option<&'a [u8]> {
        let number = number as usize;
        let start = if number == 0 { 0 } else { *self.ends.get(number - 1)? as usize };
        self.spellings.get(start..*self.ends.get(number)? as usize)
    }
}

const FNV_START: u32 = 0x811c_9dc5;

fn fnv1a(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}
