//! Bytes that are not the model are refused with a reason, and nothing panics on the way.
#![cfg(feature = "weights")]

use twining_embed::{Model, ModelError, PackedVector};
use twining_testcases::each;
use xxhash_rust::xxh3::xxh3_64;

const WHOLE: &[u8] = include_bytes!("../model/minilm-history.int8.bin");

fn refused(bytes: Vec<u8>) -> ModelError {
    Model::from_bytes(bytes).err().expect("these bytes are no model")
}

/// The model with some bytes overwritten.
fn altered(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut altered = WHOLE.to_vec();
    altered[at..at + bytes.len()].copy_from_slice(bytes);
    altered
}

/// The same, with a checksum that fits: what an attacker would hand over.
fn forged(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut forged = altered(at, bytes);
    let checksum = xxh3_64(&forged[64..]);
    forged[24..32].copy_from_slice(&checksum.to_le_bytes());
    forged
}

#[test]
fn a_file_cut_anywhere_is_said_to_be_cut() {
    let ends =
        (0..64).chain([64, 100, 1_279, 1_280, 4_096, 1 << 20, WHOLE.len() / 2, WHOLE.len() - 1]);
    each(ends, |end| {
        assert!(
            matches!(refused(WHOLE[..end].to_vec()), ModelError::Truncated { found, .. } if found == end as u64),
            "cut at {end}"
        );
    });
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    for at in (0..64).chain((64..WHOLE.len()).step_by(WHOLE.len() / 40)) {
        let damaged = refused(altered(at, &[WHOLE[at] ^ 1 << (at % 8)]));
        let expected = match at {
            0..8 => damaged == ModelError::Magic,
            8..12 => matches!(damaged, ModelError::Version { wanted: 2, .. }),
            16..24 => matches!(damaged, ModelError::Truncated { .. } | ModelError::Trailing { .. }),
            12..16 | 32..64 => matches!(damaged, ModelError::Section { .. }),
            _ => matches!(damaged, ModelError::Checksum { .. }),
        };
        assert!(expected, "byte {at}: {damaged}");
    }
}

#[test]
fn another_file_another_format_and_a_tail_are_told_apart() {
    assert_eq!(refused(b"PK\x03\x04 is a zip file".to_vec()), ModelError::Magic);
    assert_eq!(
        refused(altered(8, &3_u32.to_le_bytes())),
        ModelError::Version { wanted: 2, found: 3 }
    );
    let longer = [WHOLE, b"tail"].concat();
    assert_eq!(refused(longer), ModelError::Trailing { extra: 4 });
    assert_eq!(
        ModelError::Version { wanted: 2, found: 3 }.to_string(),
        "the model is packed in format 3; this build reads format 2"
    );
}

#[test]
fn a_forged_table_leads_nowhere() {
    // The first section's entry: its offset, then its length.
    each(
        [
            (64, u32::MAX),
            (64, 1),
            (64, 64 + 1),
            (68, u32::MAX),
            (68, 0),
            (68, 131_073),
            (80, u32::MAX),
            (84, u32::MAX),
        ],
        |(at, number)| {
            assert!(
                matches!(refused(forged(at, &number.to_le_bytes())), ModelError::Section { .. }),
                "{number} at {at}"
            );
        },
    );
}

#[test]
fn forged_weights_and_words_give_some_vector_and_no_panic() {
    let table = |section: usize| {
        let at = 64 + 8 * section;
        u32::from_le_bytes([WHOLE[at], WHOLE[at + 1], WHOLE[at + 2], WHOLE[at + 3]]) as usize
    };
    // Every slot of the vocabulary taken, ends that run backwards, scales and norms that are no numbers.
    let (slots, ends, scales, norm) = (table(0), table(1), table(4), table(6));
    each(
        [
            (slots, [0xff; 131_072].as_slice()),
            (slots, &[7; 131_072]),
            (ends, &[0xff; 4_096]),
            (scales, &[0xff; 65_536]),
            (norm, &[0x7f; 1_536]),
        ],
        |(at, bytes)| {
            let model = Model::from_bytes(forged(at, bytes)).expect("the checksum fits");
            for text in ["", "the session cache", "日本語 🚀 zzzzqqq"] {
                assert_eq!(model.embed(text).pack().to_bytes().len(), 388);
            }
        },
    );
}

#[test]
fn bytes_at_an_odd_address_give_the_same_vector() {
    let shifted: &'static [u8] = [b"x", WHOLE].concat().leak();
    let (odd, even) = (Model::from_bytes(&shifted[1..]), Model::built_in());
    let vector =
        |model: Result<Model, ModelError>| model.expect("the bytes are whole").embed("the same");
    assert_eq!(vector(odd), vector(even));
}

#[test]
fn a_packed_vector_of_another_length_or_with_no_scale_is_refused() {
    assert_eq!(PackedVector::from_bytes(&[0; 387]), None);
    let mut bytes = [1; 388];
    each([f32::NAN, f32::INFINITY, -1.0], |scale| {
        bytes[..4].copy_from_slice(&scale.to_le_bytes());
        assert_eq!(PackedVector::from_bytes(&bytes), None);
    });
}
