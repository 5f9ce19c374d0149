//! A linear map over quantised rows: where nearly all the time goes.
//!
//! Bytes times int8 weights, summed in 32 bits: at most 1,536 · 255 · 127, which fits.
//! Each level has its own tile, a few rows by a few panels held in registers.

use crate::aligned::AlignedBuffer;
use crate::instruction_set::{InstructionKind, InstructionSet};
use crate::weights::LinearWeights;

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Outputs in one panel of weights.
const PANEL: usize = 16;
/// Inputs in one group within a panel.
const GROUP: usize = 4;
/// The bytes of one step: a group of inputs for a panel of outputs.
const STEP: usize = PANEL * GROUP;
/// Rows are padded to a multiple of this, so that every tile is whole.
const ROWS: usize = 12;

/// Rows of bytes, each with the scale and zero that undo it.
#[derive(Default)]
pub struct QuantisedRows {
    bytes: AlignedBuffer<u8>,
    scales: Vec<f32>,
    zeros: Vec<i32>,
    count: usize,
    width: usize,
    /// The bytes as 16-bit numbers, for tiles that multiply those.
    widened: AlignedBuffer<i16>,
}

impl QuantisedRows {
    /// Resizes for `count` rows, whose contents are stale.
    pub fn begin(&mut self, count: usize, width: usize) {
        let padded = count.next_multiple_of(ROWS);
        self.bytes.resize(padded * width);
        self.scales.resize(padded, 0.0);
        self.zeros.resize(padded, 0);
        (self.count, self.width) = (count, width);
    }

    /// Bytes, scales and zeros, to be written.
    pub fn parts(&mut self) -> (&mut [u8], &mut [f32], &mut [i32]) {
        (&mut self.bytes, &mut self.scales, &mut self.zeros)
    }

    #[inline(always)]
    fn widen(&mut self) {
        self.widened.resize(self.bytes.len());
        for (wide, &byte) in self.widened.iter_mut().zip(&*self.bytes) {
            *wide = byte.into();
        }
    }
}

/// Applies `map` to every row.
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "code for a processor that was found to have the instructions")
)]
pub fn apply(
    level: InstructionSet,
    map: LinearWeights<'_>,
    rows: &mut QuantisedRows,
    out: &mut [f32],
) {
    match level.instructions() {
        InstructionKind::Portable => portable::apply(map, rows, out),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Level` of this kind exists only where the processor has AVX2.
        InstructionKind::Avx2 => unsafe { x86::apply_avx2(map, rows, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Level` of this kind exists only where the processor has AVX2 and AVX-VNNI.
        InstructionKind::AvxVnni => unsafe { x86::apply_avx_vnni(map, rows, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Level` of this kind exists only where the processor has AVX-512 F and VNNI.
        InstructionKind::Avx512 => unsafe { x86::apply_avx512(map, rows, out) },
    }
}

/// Undoes the quantisation of one row's sums in one panel.
#[inline(always)]
fn finish(
    map: LinearWeights<'_>,
    rows: &QuantisedRows,
    row: usize,
    panel: usize,
    sums: [i32; PANEL],
    out: &mut [f32],
) {
    if row >= rows.count {
        return;
    }
    let (first, outputs) = (panel * PANEL, map.outputs());
    let (scale, zero) = (rows.scales[row], rows.zeros[row]);
    let out = &mut out[row * outputs + first..][..PANEL];
    let (scales, offsets, bias) =
        (&map.scales[first..][..PANEL], &map.sums[first..][..PANEL], &map.bias[first..][..PANEL]);
    for lane in 0..PANEL {
        // Wrapping: a forged file may hold sums that no weights have.
        out[lane] = sums[lane].wrapping_sub(zero.wrapping_mul(offsets[lane])) as f32
            * (scale * scales[lane])
            + bias[lane];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map and rows made of a simple recurrence: no two alike, all values reached.
    fn noise(seed: u32) -> impl FnMut() -> u8 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }
    }

    #[test]
    fn every_level_computes_the_same_bits_for_any_number_of_rows() {
        let (inputs, outputs) = (crate::model_file::WIDTH, 64);
        let mut noise = noise(7);
        let panels: Vec<i8> = (0..inputs * outputs).map(|_| (noise() as i8).max(-127)).collect();
        let floats = |count: usize, noise: &mut dyn FnMut() -> u8| {
            (0..count).map(|_| f32::from(noise()) / 64.0).collect::<Vec<_>>()
        };
        let (balance, scales, bias) =
            (floats(inputs, &mut noise), floats(outputs, &mut noise), floats(outputs, &mut noise));
        let sums: Vec<i32> = (0..outputs).map(|_| i32::from(noise())).collect();
        let map = LinearWeights {
            balance: &balance,
            panels: &panels,
            scales: &scales,
            sums: &sums,
            bias: &bias,
        };
        for count in 1..30 {
            let mut rows = QuantisedRows::default();
            rows.begin(count, inputs);
            let (bytes, scales, zeros) = rows.parts();
            bytes.fill_with(&mut noise);
            scales.fill_with(|| f32::from(noise()));
            zeros.fill_with(|| i32::from(noise()));

            let naive: Vec<f32> = (0..count * outputs)
                .map(|at| naive(map, &rows, at / outputs, at % outputs))
                .collect();
            for level in InstructionSet::available() {
                let mut out = vec![0.0; count * outputs];
                apply(level, map, &mut rows, &mut out);
                assert_eq!(out, naive, "{level:?}, {count} rows");
            }
        }
    }

    fn naive(map: LinearWeights<'_>, rows: &QuantisedRows, row: usize, output: usize) -> f32 {
        let inputs = map.inputs();
        let weight = |input: usize| {
            map.panels[(output / PANEL) * inputs * PANEL
                + (input / GROUP) * STEP
                + (output % PANEL) * GROUP
                + input % GROUP]
        };
        let sum: i32 = (0..inputs)
            .map(|input| i32::from(rows.bytes[row * inputs + input]) * i32::from(weight(input)))
            .sum();
        (sum - rows.zeros[row] * map.sums[output]) as f32 * (rows.scales[row] * map.scales[output])
            + map.bias[output]
    }
}
