//! The tile for any processor: plain sums of products, which every vectoriser knows.
//!
//! Both sides are widened to 16 bits. A panel is laid out output by output while it
//! is widened, once for all rows, so that each sum runs over two plain slices.

use super::{GROUP, PANEL, QuantisedRows, STEP, finish};
use crate::weights::LinearWeights;

pub fn apply(map: LinearWeights<'_>, rows: &mut QuantisedRows, out: &mut [f32]) {
    rows.widen();
    let width = rows.width;
    let mut outputs = vec![0_i16; width * PANEL];
    for (panel, weights) in map.panels.chunks_exact(width * PANEL).enumerate() {
        for (lane, output) in outputs.chunks_exact_mut(width).enumerate() {
            for (wide, step) in
                output.as_chunks_mut::<GROUP>().0.iter_mut().zip(weights.as_chunks::<STEP>().0)
            {
                *wide = std::array::from_fn(|at| step[lane * GROUP + at].into());
            }
        }
        for (row, inputs) in rows.widened.chunks_exact(width).take(rows.count).enumerate() {
            let mut sums = [0; PANEL];
            for (sum, output) in sums.iter_mut().zip(outputs.chunks_exact(width)) {
                *sum = dot(inputs, output);
            }
            finish(map, rows, row, panel, sums, out);
        }
    }
}

/// In as many sums as four registers hold; widths are multiples of that.
#[inline(always)]
fn dot(inputs: &[i16], weights: &[i16]) -> i32 {
    let mut sums = [0_i32; PANEL];
    for (inputs, weights) in
        inputs.as_chunks::<PANEL>().0.iter().zip(weights.as_chunks::<PANEL>().0)
    {
        for lane in 0..PANEL {
            sums[lane] += i32::from(inputs[lane]) * i32::from(weights[lane]);
        }
    }
    sums.iter().sum()
}
