//! The sections of a model under their names, read in place.

use crate::model_file::{BEFORE_LAYERS, LAYERS, ModelFile, PER_LAYER};

#[cfg(target_endian = "big")]
compile_error!("the packed model is read in place and is little-endian; this processor is not");

/// A model's numbers.
pub struct ModelWeights<'a> {
    /// Word vectors, one row per piece.
    pub words: &'a [i8],
    /// The scale of each word's row.
    pub word_scales: &'a [f32],
    /// What is added at each position.
    pub positions: &'a [f32],
    /// The norm over the sum of both.
    pub norm: NormWeights<'a>,
    /// The layers, in order.
    pub layers: [EncoderLayer<'a>; LAYERS],
}

/// One layer: attention, then feed-forward, each with its norm.
pub struct EncoderLayer<'a> {
    /// Query, key and value side by side; queries are already scaled for attention.
    pub qkv: LinearWeights<'a>,
    /// What attention found, back to the layer's width.
    pub out: LinearWeights<'a>,
    /// After attention.
    pub first_norm: NormWeights<'a>,
    /// From 384 to 1,536.
    pub up: LinearWeights<'a>,
    /// And back.
    pub down: LinearWeights<'a>,
    /// After feed-forward.
    pub second_norm: NormWeights<'a>,
}

/// A linear map with int8 weights.
///
/// `panels` holds 16 outputs at a time; within a panel groups of 4 inputs, and
/// within a group the 4 weights of each output: 64 bytes, one step of a kernel.
#[derive(Clone, Copy)]
pub struct LinearWeights<'a> {
    /// What each input is multiplied by before it is quantised, which evens out
    /// inputs that are always large. The weights are divided by the same.
    pub balance: &'a [f32],
    /// The weights.
    pub panels: &'a [i8],
    /// The scale of each output's weights.
    pub scales: &'a [f32],
    /// The sum of each output's weights: what an input of all ones would give.
    pub sums: &'a [i32],
    /// What is added to each output.
    pub bias: &'a [f32],
}

/// Gain and bias of a layer norm.
#[derive(Clone, Copy)]
pub struct NormWeights<'a> {
    /// Gain.
    pub gain: &'a [f32],
    /// Bias.
    pub bias: &'a [f32],
}

impl<'a> ModelWeights<'a> {
    /// Names the sections; [`Layout::read`] has checked their lengths and alignment.
    pub fn of(layout: &'a ModelFile) -> Self {
        Self {
            words: bytemuck::cast_slice(layout.section(3)),
            word_scales: bytemuck::cast_slice(layout.section(4)),
            positions: bytemuck::cast_slice(layout.section(5)),
            norm: NormWeights::at(layout, 6),
            layers: std::array::from_fn(|number| {
                let first = BEFORE_LAYERS + number * PER_LAYER;
                EncoderLayer {
                    qkv: LinearWeights::at(layout, first),
                    out: LinearWeights::at(layout, first + 5),
                    first_norm: NormWeights::at(layout, first + 10),
                    up: LinearWeights::at(layout, first + 12),
                    down: LinearWeights::at(layout, first + 17),
                    second_norm: NormWeights::at(layout, first + 22),
                }
            }),
        }
    }
}

impl<'a> LinearWeights<'a> {
    fn at(layout: &'a ModelFile, first: usize) -> Self {
        Self {
            balance: bytemuck::cast_slice(layout.section(first)),
            panels: bytemuck::cast_slice(layout.section(first + 1)),
            scales: bytemuck::cast_slice(layout.section(first + 2)),
            sums: bytemuck::cast_slice(layout.section(first + 3)),
            bias: bytemuck::cast_slice(layout.section(first + 4)),
        }
    }

    /// How many numbers go in.
    pub fn inputs(&self) -> usize {
        self.balance.len()
    }

    /// How many come out.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }
}

impl<'a> NormWeights<'a> {
    fn at(layout: &'a ModelFile, first: usize) -> Self {
        Self {
            gain: bytemuck::cast_slice(layout.section(first)),
            bias: bytemuck::cast_slice(layout.section(first + 1)),
        }
    }
}
