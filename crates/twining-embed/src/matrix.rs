//! Many vectors in one block of memory, searched from end to end.
//!
//! A hundred thousand rows are 38 MB, which one core reads in a few milliseconds;
//! an approximate index would answer little sooner and sometimes wrongly.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::instruction_set::{InstructionSet, by_level};
use crate::vector::{DIMENSIONS, PackedVector, Vector};

/// Rows whose scores are computed at a time: what is found in them stays in the cache.
const BLOCK: usize = 256;
/// The scale of a row that was removed: no packed vector has a negative one.
const REMOVED: f32 = -1.0;

/// Packed vectors by row number. Rows keep their number for life.
#[derive(Clone, Debug)]
pub struct Matrix {
    numbers: Vec<[i8; DIMENSIONS]>,
    scales: Vec<f32>,
    level: InstructionSet,
}

/// A row that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorHit {
    /// Which row.
    pub row: usize,
    /// How alike it is to the query, up to one.
    pub score: f32,
}

impl Matrix {
    /// No rows yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// No rows yet, with room for so many: growing by doubling would hold them twice.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            numbers: Vec::with_capacity(rows),
            scales: Vec::with_capacity(rows),
            level: InstructionSet::best(),
        }
    }

    /// Adds a row and returns its number.
    pub fn push(&mut self, packed: &PackedVector) -> usize {
        self.numbers.push(*packed.array());
        self.scales.push(packed.scale());
        self.scales.len() - 1
    }

    /// Puts another vector in a row, removed or not; false when there is no such row.
    pub fn replace(&mut self, row: usize, packed: &PackedVector) -> bool {
        let Some(numbers) = self.numbers.get_mut(row) else { return false };
        *numbers = *packed.array();
        self.scales[row] = packed.scale();
        true
    }

    /// Takes a row out of every search; false when it is not there.
    pub fn remove(&mut self, row: usize) -> bool {
        let there = self.scales.get(row).is_some_and(|&scale| scale != REMOVED);
        if there {
            self.scales[row] = REMOVED;
        }
        there
    }

    /// Rows ever added, removed ones included: the next one gets this number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether there was ever a row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Every row's score, in order; rows that were removed get minus infinity.
    #[must_use]
    pub fn scores(&self, query: &Vector) -> Vec<f32> {
        let mut scores = vec![0.0; self.len()];
        let (scale, query) = query.to_i16();
        score_rows(self.level, &self.numbers, &self.scales, scale, &query, &mut scores);
        scores
    }

    /// How alike two rows are; nothing if one is not there.
    #[must_use]
    pub fn similarity(&self, one: usize, other: usize) -> Option<f32> {
        let there = |row: usize| self.scales.get(row).copied().filter(|&scale| scale != REMOVED);
        let scale = there(one)? * there(other)?;
        let products = self.numbers[one]
            .iter()
            .zip(&self.numbers[other])
            .map(|(&a, &b)| i32::from(a) * i32::from(b));
        #[expect(clippy::cast_precision_loss, reason = "384 products of bytes fit")]
        Some(scale * products.sum::<i32>() as f32)
    }

    /// The `most` rows most like the query among those to `keep`, the best first and
    /// the lower number first among equals.
    #[must_use]
    pub fn nearest(
        &self,
        query: &Vector,
        most: usize,
        keep: impl Fn(usize) -> bool,
    ) -> Vec<VectorHit> {
        if most == 0 {
            return Vec::new();
        }
        let (scale, query) = query.to_i16();
        let mut found: BinaryHeap<LowestHit> = BinaryHeap::new();
        let mut scores = [0.0; BLOCK];
        for (block, (numbers, scales)) in
            self.numbers.chunks(BLOCK).zip(self.scales.chunks(BLOCK)).enumerate()
        {
            let scores = &mut scores[..numbers.len()];
            score_rows(self.level, numbers, scales, scale, &query, scores);
            for (at, &score) in scores.iter().enumerate() {
                let hit = LowestHit(VectorHit { row: block * BLOCK + at, score });
                let full = found.len() == most;
                // The filter is asked last: it may cost more than the score.
                if score == f32::NEG_INFINITY
                    || (full && found.peek().is_some_and(|worst| *worst <= hit))
                    || !keep(hit.0.row)
                {
                    continue;
                }
                if full {
                    found.pop();
                }
                found.push(hit);
            }
        }
        found.into_sorted_vec().into_iter().map(|LowestHit(hit)| hit).collect()
    }
}

impl Default for Matrix {
    fn default() -> Self {
        Self::new()
    }
}

/// Hits ordered so that the greatest is the one to give up first.
struct LowestHit(VectorHit);

impl Ord for LowestHit {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.score.total_cmp(&self.0.score).then(self.0.row.cmp(&other.0.row))
    }
}

impl PartialOrd for LowestHit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LowestHit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for LowestHit {}

by_level! {
    /// The score of each row. Sums fit 32 bits: 384 · 128 · 32,767 is below 2³¹.
    pub fn score_rows(rows: &[[i8; DIMENSIONS]], scales: &[f32], query_scale: f32, query: &[i16; DIMENSIONS], scores: &mut [f32]) {
        for ((row, &scale), score) in rows.iter().zip(scales).zip(scores) {
            let mut sum = 0;
            for at in 0..DIMENSIONS {
                sum += i32::from(row[at]) * i32::from(query[at]);
            }
            *score = if scale == REMOVED { f32::NEG_INFINITY } else { sum as f32 * (scale * query_scale) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_gives_the_same_scores() {
        let mut matrix = Matrix::new();
        for row in 0..300_usize {
            matrix.push(
                &Vector::normalised(std::array::from_fn(|at| {
                    ((at * 31 + row * 17) % 101) as f32 - 50.0
                }))
                .pack(),
            );
        }
        let query = Vector::normalised(std::array::from_fn(|at| ((at * 7) % 13) as f32 - 6.0));
        let best = matrix.scores(&query);
        for level in InstructionSet::available() {
            matrix.level = level;
            assert_eq!(matrix.scores(&query), best, "{level:?}");
        }
    }
}
