//! One pass through the model.
//!
//! Several texts may share a pass: each weight is then read from memory once for
//! all of them. Tokens only meet those of their own text, in attention, so a text's
//! vector does not depend on its company.

use std::thread::yield_now;

use crate::aligned::AlignedBuffer;
use crate::attention::{self, attend};
use crate::instruction_set::InstructionSet;
use crate::linear::{QuantisedRows, apply};
use crate::math::{add_and_normalise, embed_tokens, gelu, quantise};
use crate::model_file::{INNER, WIDTH};
use crate::vector::{DIMENSIONS, Vector};
use crate::weights::{LinearWeights, ModelWeights};

/// Rows that go through the feed-forward half at a time, which is four times as wide.
const INNER_ROWS: usize = 96;

/// Buffers for one pass, reused between passes.
#[derive(Default)]
pub struct ForwardBuffers {
    /// A row per token: what the layers work on.
    rows: AlignedBuffer<f32>,
    qkv: AlignedBuffer<f32>,
    /// What attention or feed-forward adds to the rows.
    added: AlignedBuffer<f32>,
    inner: AlignedBuffer<f32>,
    quantised: QuantisedRows,
    attention: attention::AttentionBuffers,
}

/// The vector of each sequence of tokens, opening and closing tokens included.
///
/// Sequences have 1 to 256 tokens, each below the number of pieces. A pass computes for
/// milliseconds: one that nobody waits for yields the processor between its parts.
pub fn forward(
    level: InstructionSet,
    weights: &ModelWeights<'_>,
    sequences: &[&[u32]],
    yields: bool,
    scratch: &mut ForwardBuffers,
) -> Vec<Vector> {
    let total: usize = sequences.iter().map(|tokens| tokens.len()).sum();
    let ForwardBuffers { rows, qkv, added, inner, quantised, attention } = scratch;
    rows.resize(total * WIDTH);
    qkv.resize(total * 3 * WIDTH);
    added.resize(total * WIDTH);
    inner.resize(total.min(INNER_ROWS) * INNER);

    let mut first = 0;
    for &tokens in sequences {
        let rows = &mut rows[first * WIDTH..][..tokens.len() * WIDTH];
        embed_tokens(
            level,
            tokens,
            weights.words,
            weights.word_scales,
            weights.positions,
            weights.norm,
            rows,
        );
        first += tokens.len();
    }
    for layer in &weights.layers {
        linear(level, layer.qkv, rows, quantised, qkv);
        if yields {
            yield_now();
        }
        let mut first = 0;
        for tokens in sequences {
            let (start, end) = (first, first + tokens.len());
            attend(
                level,
                &qkv[start * 3 * WIDTH..end * 3 * WIDTH],
                tokens.len(),
                attention,
                &mut added[start * WIDTH..end * WIDTH],
            );
            first = end;
        }
        // The queries are no longer needed; the output reuses their buffer.
        linear(level, layer.out, added, quantised, &mut qkv[..total * WIDTH]);
        add_and_normalise(level, rows, &qkv[..total * WIDTH], layer.first_norm);
        for rows in rows.chunks_mut(INNER_ROWS * WIDTH) {
            if yields {
                yield_now();
            }
            let (inner, added) =
                (&mut inner[..rows.len() / WIDTH * INNER], &mut added[..rows.len()]);
            linear(level, layer.up, rows, quantised, inner);
            gelu(level, inner);
            linear(level, layer.down, inner, quantised, added);
            add_and_normalise(level, rows, added, layer.second_norm);
        }
    }
    pool(rows, sequences)
}

fn linear(
    level: InstructionSet,
    map: LinearWeights<'_>,
    rows: &[f32],
    quantised: &mut QuantisedRows,
    out: &mut [f32],
) {
    quantise(level, rows, map, quantised);
    apply(level, map, quantised, out);
}

/// The mean over each sequence's tokens; its length is evened out anyway.
fn pool(rows: &[f32], sequences: &[&[u32]]) -> Vec<Vector> {
    let mut rows = rows.chunks_exact(WIDTH);
    let vector_of = |tokens: &&[u32]| {
        let mut sums = [0.0; DIMENSIONS];
        for row in rows.by_ref().take(tokens.len()) {
            for (sum, number) in sums.iter_mut().zip(row) {
                *sum += number;
            }
        }
        Vector::normalised(sums)
    };
    sequences.iter().map(vector_of).collect()
}
