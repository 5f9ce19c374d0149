//! The small functions between the matrix products, written for the vectoriser.
//!
//! Sums run in 16 lanes that are added up in one fixed order, and nothing is fused,
//! so every processor gets the same bits. No function of the platform is used
//! except the square root, which is exact everywhere.

use crate::instruction_set::by_level;
use crate::linear::QuantisedRows;
use crate::model_file::WIDTH;
use crate::weights::{LinearWeights, NormWeights};

/// Numbers handled at once.
pub const LANES: usize = 16;

/// Adding this to a small float rounds it, and leaves the integer in its low bits.
const ROUNDER: f32 = 12_582_912.0;

by_level! {
    /// Adds `more` to `rows` and normalises each row.
    pub fn add_and_normalise(rows: &mut [f32], more: &[f32], norm: NormWeights<'_>) {
        for (row, more) in rows.chunks_exact_mut(WIDTH).zip(more.chunks_exact(WIDTH)) {
            for (number, more) in row.iter_mut().zip(more) {
                *number += more;
            }
            normalise(row, norm);
        }
    }
}

by_level! {
    /// Quantises each row to 8 bits between its least and greatest number.
    pub fn quantise(rows: &[f32], map: LinearWeights<'_>, into: &mut QuantisedRows) {
        into.begin(rows.len() / map.inputs(), map.inputs());
        let (bytes, scales, zeros) = into.parts();
        for (((row, bytes), scale), zero) in rows.chunks_exact(map.inputs()).zip(bytes.chunks_exact_mut(map.inputs())).zip(scales).zip(zeros) {
            (*scale, *zero) = quantise_row(row, map.balance, bytes);
        }
    }
}

by_level! {
    /// The activation of the feed-forward half: x · Φ(x), exact to 2e-7.
    pub fn gelu(numbers: &mut [f32]) {
        for number in numbers {
            *number = gelu_of(*number);
        }
    }
}

by_level! {
    /// Looks up each token's vector, adds its position's, and normalises.
    pub fn embed_tokens(tokens: &[u32], words: &[i8], scales: &[f32], positions: &[f32], norm: NormWeights<'_>, rows: &mut [f32]) {
        for ((&token, row), position) in tokens.iter().zip(rows.chunks_exact_mut(WIDTH)).zip(positions.chunks_exact(WIDTH)) {
            let (word, scale) = (&words[token as usize * WIDTH..][..WIDTH], scales[token as usize]);
            for ((number, &word), &position) in row.iter_mut().zip(word).zip(position) {
                *number = f32::from(word) * scale + position;
            }
            normalise(row, norm);
        }
    }
}

/// Turns scores into weights whose sum is returned, the greatest being one.
#[inline(always)]
pub fn exponentials(scores: &mut [f32]) -> f32 {
    let greatest = fold(scores, f32::MIN, |a, b| if a > b { a } else { b });
    let mut sums = [0.0; LANES];
    let (chunks, rest) = scores.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for (number, sum) in chunk.iter_mut().zip(&mut sums) {
            *number = exp(*number - greatest);
            *sum += *number;
        }
    }
    for (number, sum) in rest.iter_mut().zip(&mut sums) {
        *number = exp(*number - greatest);
        *sum += *number;
    }
    add_lanes(sums)
}

#[inline(always)]
fn normalise(row: &mut [f32], norm: NormWeights<'_>) {
    let mean = fold(row, 0.0, |a, b| a + b) / WIDTH as f32;
    for number in row.iter_mut() {
        *number -= mean;
    }
    let mut squares = [0.0; LANES];
    for chunk in row.as_chunks::<LANES>().0 {
        for (sum, number) in squares.iter_mut().zip(chunk) {
            *sum += number * number;
        }
    }
    let factor = 1.0 / (add_lanes(squares) / WIDTH as f32 + 1e-12).sqrt();
    for ((number, gain), bias) in row.iter_mut().zip(norm.gain).zip(norm.bias) {
        *number = *number * factor * gain + bias;
    }
}

/// Scale and zero point: number = scale · (byte - zero) / balance.
#[inline(always)]
fn quantise_row(row: &[f32], balance: &[f32], bytes: &mut [u8]) -> (f32, i32) {
    // Two passes: in one, the vectoriser braids both comparisons and shuffles more than it compares.
    let least = fold_balanced(row, balance, |a, b| if b < a { b } else { a });
    let greatest = fold_balanced(row, balance, |a, b| if b > a { b } else { a });
    // Zero lies in the range, so a row of zeros gets a scale, and zero a byte of its own.
    let scale = ((greatest - least) / 255.0).max(1e-30);
    let per_step = 1.0 / scale;
    let shift = ROUNDER + (((0.0 - least) * per_step + ROUNDER) - ROUNDER);
    for ((number, balance), byte) in row.iter().zip(balance).zip(bytes) {
        let bits =
            (number * balance * per_step + shift).to_bits().wrapping_sub(ROUNDER.to_bits()) as i32;
        *byte = bits.clamp(0, 255) as u8;
    }
    (scale, shift.to_bits().wrapping_sub(ROUNDER.to_bits()) as i32)
}

/// The error function by Abramowitz and Stegun, 7.1.26.
#[inline(always)]
fn gelu_of(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_73) * t
        + 0.254_829_6)
        * t;
    let erf = 1.0 - series * exp(0.0 - z * z);
    0.5 * x + 0.5 * x.abs() * erf
}

/// e to the power of a number that is not above zero.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = if x > -87.0 { x } else { -87.0 };
    let power = x * std::f32::consts::LOG2_E;
    let rounded = power + ROUNDER;
    let rest = (power - (rounded - ROUNDER)) * std::f32::consts::LN_2;
    // Taylor's series up to the sixth power: |rest| is at most 0.35.
    let series = ((((rest * (1.0 / 720.0) + 1.0 / 120.0) * rest + 1.0 / 24.0) * rest + 1.0 / 6.0)
        * rest
        + 0.5)
        * rest;
    let fraction = (series + 1.0) * rest + 1.0;
    f32::from_bits(fraction.to_bits().wrapping_add(rounded.to_bits() << 23))
}

#[inline(always)]
fn fold(numbers: &[f32], first: f32, step: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [first; LANES];
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &number) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, number);
        }
    }
    for (lane, &number) in lanes.iter_mut().zip(rest) {
        *lane = step(*lane, number);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = step(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn fold_balanced(row: &[f32], balance: &[f32], step: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for (numbers, balance) in row.as_chunks::<LANES>().0.iter().zip(balance.as_chunks::<LANES>().0)
    {
        for lane in 0..LANES {
            lanes[lane] = step(lanes[lane], numbers[lane] * balance[lane]);
        }
    }
    fold(&lanes, 0.0, step)
}

#[inline(always)]
fn add_lanes(lanes: [f32; LANES]) -> f32 {
    fold(&lanes, 0.0, |a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_accurate_where_softmax_and_gelu_use_it() {
        for step in 0..8700 {
            let x = -(step as f32) / 100.0;
            let (got, wanted) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((got - wanted).abs() <= wanted * 1e-5, "exp({x}) = {got}, not {wanted}");
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn gelu_goes_to_zero_on_the_left_and_to_x_on_the_right() {
        assert_eq!(gelu_of(0.0), 0.0);
        assert!(gelu_of(-10.0).abs() < 1e-6);
        assert!((gelu_of(10.0) - 10.0).abs() < 1e-5);
        assert!((gelu_of(1.0) - 0.841_344_7).abs() < 1e-6);
        assert!((gelu_of(-1.0) + 0.158_655_26).abs() < 1e-6);
    }
}
