//! The packed file: a header, a table of sections, the sections.
//!
//! All numbers are little-endian. `scripts/pack-model` writes it; the two change
//! together, with [`FORMAT`].
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `TWNEMBED` |
//! | 8..12 | format |
//! | 12..16 | number of sections |
//! | 16..24 | length of the whole file |
//! | 24..32 | xxh3-64 of everything after the header |
//! | 32..64 | zero |
//! | 64.. | per section: offset and length, each `u32` |
//!
//! Each section begins at a multiple of 64. Their lengths follow from the model's
//! shape, so a section of any other length is refused before anything reads it.

use std::borrow::Cow;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::aligned::{AlignedBuffer, LINE};

/// Numbers per token, and per vector.
pub const WIDTH: usize = 384;
/// Numbers per token inside the feed-forward half of a layer.
pub const INNER: usize = 1536;
/// Layers.
pub const LAYERS: usize = 6;
/// Attention heads per layer.
pub const HEADS: usize = 12;
/// Numbers per token and head.
pub const HEAD: usize = WIDTH / HEADS;
/// Tokens in one pass, [CLS] and [SEP] included: the model was trained with that many.
pub const POSITIONS: usize = 256;
/// Pieces in the vocabulary.
pub const PIECES: usize = 30_522;
/// Slots of the vocabulary's hash table.
pub const SLOTS: usize = 1 << 16;

const MAGIC: &[u8; 8] = b"TWNEMBED";
const FORMAT: u32 = 2;
const HEADER: usize = 64;

/// How long a section has to be.
#[derive(Clone, Copy)]
enum SectionSize {
    Bytes(usize),
    /// Text: whatever the table says.
    Any,
}

/// Sections before the first layer: vocabulary (3), words (2), positions, norm (2).
pub const BEFORE_LAYERS: usize = 8;
/// Sections of one layer: four linear maps of 5, two norms of 2.
pub const PER_LAYER: usize = 24;
/// After the layers: the model's name and version.
const NAME: usize = BEFORE_LAYERS + LAYERS * PER_LAYER;
const SECTIONS: usize = NAME + 1;

/// Bytes that were found to be a whole model, and where its sections are.
pub struct ModelFile {
    bytes: ModelBytes,
    sections: Vec<Range<usize>>,
}

/// Bytes that begin at a multiple of 64.
enum ModelBytes {
    InPlace(Cow<'static, [u8]>),
    Copied(AlignedBuffer<u8>),
}

impl ModelFile {
    /// Checks everything that later code relies on.
    pub fn read(bytes: Cow<'static, [u8]>) -> Result<Self, ModelError> {
        check_header(&bytes)?;
        let sections = read_table(&bytes)?;
        Ok(Self { bytes: ModelBytes::align(bytes), sections })
    }

    /// Name and version, as in `minilm-history 1`; empty if it is not text.
    pub fn name(&self) -> &str {
        str::from_utf8(self.section(NAME)).unwrap_or_default()
    }

    /// Checksum from the header, which matches the body.
    pub fn checksum(&self) -> u64 {
        u64_at(self.bytes.as_slice(), 24)
    }

    /// The bytes of one section.
    pub fn section(&self, number: usize) -> &[u8] {
        &self.bytes.as_slice()[self.sections[number].clone()]
    }
}

impl ModelBytes {
    /// Copies bytes that begin at an odd place: numbers are read from them in place.
    fn align(bytes: Cow<'static, [u8]>) -> Self {
        if bytes.as_ptr().addr().is_multiple_of(LINE) {
            Self::InPlace(bytes)
        } else {
            Self::Copied(AlignedBuffer::copy_of(&bytes))
        }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

fn check_header(bytes: &[u8]) -> Result<(), ModelError> {
    let short =
        |wanted: usize| ModelError::Truncated { wanted: wanted as u64, found: bytes.len() as u64 };
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
        return Err(ModelError::Magic);
    }
    let header = bytes.get(..HEADER).ok_or_else(|| short(HEADER))?;
    let found = u32_at(header, 8);
    if found != FORMAT {
        return Err(ModelError::Version { wanted: FORMAT, found });
    }
    let (wanted, found) = (u64_at(header, 16), bytes.len() as u64);
    if found < wanted {
        return Err(ModelError::Truncated { wanted, found });
    }
    if found > wanted {
        return Err(ModelError::Trailing { extra: found - wanted });
    }
    let (wanted, found) = (u64_at(header, 24), xxh3_64(&bytes[HEADER..]));
    if wanted != found {
        return Err(ModelError::Checksum { wanted, found });
    }
    // A length or count changed in the header alone is caught by the comparisons
    // above and in the table; the rest of it is zero.
    if header[32..].iter().any(|&byte| byte != 0) {
        return Err(ModelError::Section {
            section: 0,
            what: "the header is not zero where it should be",
        });
    }
    Ok(())
}

fn read_table(bytes: &[u8]) -> Result<Vec<Range<usize>>, ModelError> {
    let wrong = |section, what| ModelError::Section { section, what };
    if u32_at(bytes, 12) as usize != SECTIONS {
        return Err(wrong(0, "there are more or fewer sections than the model has"));
    }
    let table = bytes
        .get(HEADER..HEADER + 8 * SECTIONS)
        .ok_or_else(|| wrong(0, "the table is cut short"))?;
    let mut sections = Vec::with_capacity(SECTIONS);
    for (number, (entry, size)) in table.chunks_exact(8).zip(sizes()).enumerate() {
        let (offset, length) = (u32_at(entry, 0) as usize, u32_at(entry, 4) as usize);
        let end = offset
            .checked_add(length)
            .filter(|&end| end <= bytes.len())
            .ok_or_else(|| wrong(number, "it leads out of the file"))?;
        if !offset.is_multiple_of(LINE) {
            return Err(wrong(number, "it does not begin at a multiple of 64"));
        }
        if matches!(size, SectionSize::Bytes(wanted) if wanted != length) {
            return Err(wrong(number, "its length does not fit the model"));
        }
        sections.push(offset..end);
    }
    Ok(sections)
}

/// The length of each section, in the order of the file.
fn sizes() -> impl Iterator<Item = SectionSize> {
    let floats = |count: usize| SectionSize::Bytes(4 * count);
    let linear = move |inputs: usize, outputs: usize| {
        [
            floats(inputs),
            SectionSize::Bytes(inputs * outputs),
            floats(outputs),
            floats(outputs),
            floats(outputs),
        ]
    };
    let norm = [floats(WIDTH), floats(WIDTH)];
    let before = [
        SectionSize::Bytes(2 * SLOTS),
        SectionSize::Bytes(4 * PIECES),
        SectionSize::Any,
        SectionSize::Bytes(PIECES * WIDTH),
        floats(PIECES),
        floats(POSITIONS * WIDTH),
        norm[0],
        norm[1],
    ];
    let layer = move |_| {
        let attention =
            linear(WIDTH, 3 * WIDTH).into_iter().chain(linear(WIDTH, WIDTH)).chain(norm);
        attention.chain(linear(WIDTH, INNER)).chain(linear(INNER, WIDTH)).chain(norm)
    };
    before.into_iter().chain((0..LAYERS).flat_map(layer)).chain([SectionSize::Any])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// Why bytes are not a model this build can compute from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// There is less than the header promises.
    #[error("the model is cut short: {found} bytes of {wanted}")]
    Truncated {
        /// Bytes there should be.
        wanted: u64,
        /// Bytes there are.
        found: u64,
    },
    /// There is more than the header promises.
    #[error("the model has {extra} bytes after its end")]
    Trailing {
        /// How many.
        extra: u64,
    },
    /// These bytes are something else.
    #[error("this is not a packed model: it does not begin with `TWNEMBED`")]
    Magic,
    /// Packed by another version of `scripts/pack-model`.
    #[error("the model is packed in format {found}; this build reads format {wanted}")]
    Version {
        /// The format this build reads.
        wanted: u32,
        /// The format the file names.
        found: u32,
    },
    /// The bytes changed since they were packed.
    #[error("the model's checksum is {found:016x}; its header says {wanted:016x}")]
    Checksum {
        /// What the header says.
        wanted: u64,
        /// What the bytes add up to.
        found: u64,
    },
    /// The bytes are whole, but not of this model.
    #[error("section {section} of the model is not what this build expects: {what}")]
    Section {
        /// Which one, from zero, in the order of the table.
        section: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}
