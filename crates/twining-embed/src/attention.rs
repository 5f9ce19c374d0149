//! Attention: each token looks at every token of its own text.
//!
//! Both products add four scaled rows at a time to a row of sums. That keeps the
//! arithmetic busy without a tile in registers, and any vectoriser understands it.

use crate::aligned::AlignedBuffer;
use crate::instruction_set::by_level;
use crate::math::{LANES, exponentials};
use crate::model_file::{HEAD, HEADS, WIDTH};

/// Queries, keys and values of one token lie side by side.
const STRIDE: usize = 3 * WIDTH;
/// Rows added at a time.
const FOUR: usize = 4;

/// Buffers for one head of one text.
#[derive(Default)]
pub struct AttentionBuffers {
    /// Each of a head's numbers for all tokens together.
    keys: AlignedBuffer<f32>,
    /// The head's numbers of each token.
    values: AlignedBuffer<f32>,
    /// One token's scores with all others.
    scores: AlignedBuffer<f32>,
}

by_level! {
    /// Attention within one text of `count` tokens; `context` gets what each token found.
    pub fn attend(qkv: &[f32], count: usize, scratch: &mut AttentionBuffers, context: &mut [f32]) {
        let padded = count.next_multiple_of(LANES);
        scratch.keys.resize(padded * HEAD);
        scratch.values.resize(padded * HEAD);
        scratch.scores.resize(padded);
        let (keys, values, scores) = (&mut *scratch.keys, &mut *scratch.values, &mut *scratch.scores);
        for head in 0..HEADS {
            split_heads(qkv, head, count, keys, values);
            for token in 0..count {
                score(part_of(qkv, token, head), keys, scores);
                // Places past the end take no part: least likely, then not at all.
                scores[count..].fill(f32::MIN);
                let total = exponentials(scores);
                scores[count..].fill(0.0);
                let found = gather(values, scores);
                let share = 1.0 / total;
                for (into, found) in context[token * WIDTH + head * HEAD..][..HEAD].iter_mut().zip(found) {
                    *into = found * share;
                }
            }
        }
    }
}

/// Copies a head's keys, transposed, and its values; places past the end are zero.
#[inline(always)]
fn split_heads(qkv: &[f32], head: usize, count: usize, keys: &mut [f32], values: &mut [f32]) {
    let padded = keys.len() / HEAD;
    let (values, past) = values.split_at_mut(count * HEAD);
    past.fill(0.0);
    for (token, value) in values.as_chunks_mut::<HEAD>().0.iter_mut().enumerate() {
        *value = *part_of(&qkv[2 * WIDTH..], token, head);
    }
    for (at, keys) in keys.chunks_exact_mut(padded).enumerate() {
        let (keys, past) = keys.split_at_mut(count);
        past.fill(0.0);
        for (token, key) in keys.iter_mut().enumerate() {
            *key = part_of(&qkv[WIDTH..], token, head)[at];
        }
    }
}

/// One token's scores: its query with every key.
#[inline(always)]
fn score(query: &[f32; HEAD], keys: &[f32], scores: &mut [f32]) {
    let padded = scores.len();
    scores.fill(0.0);
    for (&factors, keys) in query.as_chunks::<FOUR>().0.iter().zip(keys.chunks_exact(FOUR * padded))
    {
        let (front, back) = keys.split_at(2 * padded);
        let ((a, b), (c, d)) = (front.split_at(padded), back.split_at(padded));
        add_four(scores, factors, [a, b, c, d]);
    }
}

/// The sum of all values, each as often as its weight says.
#[inline(always)]
fn gather(values: &[f32], weights: &[f32]) -> [f32; HEAD] {
    let mut sums = [0.0; HEAD];
    let fours = values.as_chunks::<HEAD>().0.as_chunks::<FOUR>().0;
    for (&factors, [a, b, c, d]) in weights.as_chunks::<FOUR>().0.iter().zip(fours) {
        add_four(&mut sums, factors, [a, b, c, d]);
    }
    sums
}

#[inline(always)]
fn add_four(sums: &mut [f32], factors: [f32; FOUR], rows: [&[f32]; FOUR]) {
    let ([a, b, c, d], [fa, fb, fc, fd]) = (rows, factors);
    for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *sum += (a * fa + b * fb) + (c * fc + d * fd);
    }
}

#[inline(always)]
fn part_of(qkv: &[f32], token: usize, head: usize) -> &[f32; HEAD] {
    &qkv[token * STRIDE + head * HEAD..].as_chunks().0[0]
}
