//! Many vectors in one block of memory, searched from end to end.
//!
//! A hundred thousand rows are 38 MB, which one core reads in a few milliseconds;
//! an approximate index would answer little sooner and sometimes wrongly.

use crate::instruction_set::{InstructionSet, by_level};
use crate::vector::{DIMENSIONS, PackedVector, Vector};

/// Packed vectors by row number.
#[derive(Clone, Debug)]
pub struct Matrix {
    numbers: Vec<[i8; DIMENSIONS]>,
    scales: Vec<f32>,
    level: InstructionSet,
}

impl Default for Matrix {
    /// No rows yet.
    fn default() -> Self {
        Self { numbers: Vec::new(), scales: Vec::new(), level: InstructionSet::best() }
    }
}

impl Matrix {
    /// Adds a row and returns its number.
    pub fn push(&mut self, packed: &PackedVector) -> usize {
        self.numbers.push(*packed.array());
        self.scales.push(packed.scale());
        self.scales.len() - 1
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Every row's score, in order.
    #[must_use]
    pub fn scores(&self, query: &Vector) -> Vec<f32> {
        let mut scores = vec![0.0; self.scales.len()];
        let (scale, query) = query.to_i16();
        score_rows(self.level, &self.numbers, &self.scales, scale, &query, &mut scores);
        scores
    }

    /// How alike two rows are; nothing if one is not there.
    #[must_use]
    pub fn similarity(&self, one: usize, other: usize) -> Option<f32> {
        let scale = self.scales.get(one)? * self.scales.get(other)?;
        let products = self.numbers[one]
            .iter()
            .zip(&self.numbers[other])
            .map(|(&a, &b)| i32::from(a) * i32::from(b));
        #[expect(clippy::cast_precision_loss, reason = "384 products of bytes fit")]
        Some(scale * products.sum::<i32>() as f32)
    }
}

by_level! {
    /// The score of each row. Sums fit 32 bits: 384 · 128 · 32,767 is below 2³¹.
    pub fn score_rows(rows: &[[i8; DIMENSIONS]], scales: &[f32], query_scale: f32, query: &[i16; DIMENSIONS], scores: &mut [f32]) {
        for ((row, &scale), score) in rows.iter().zip(scales).zip(scores) {
            let mut sum = 0;
            for at in 0..DIMENSIONS {
                sum += i32::from(row[at]) * i32::from(query[at]);
            }
            *score = sum as f32 * (scale * query_scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::flat_index::*;

    #[test]
    fn every_level_gives_the_same_scores() {
        let mut matrix = Matrix::default();
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
