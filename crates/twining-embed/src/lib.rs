//! Text to vector, offline and in process.
//!
//! Two texts that mean similar things get vectors that point in similar
//! directions, even when they share no word. The model is all-MiniLM-L6-v2, tuned on
//! software history (`model/ORIGIN.md`): text becomes tokens ([`Model::tokens`]), six layers of attention and feed-forward
//! turn each token into 384 numbers, and their mean, scaled to length one, is the
//! [`Vector`]. The model is fixed, so its forward pass is written out here; no
//! framework is needed, nothing is downloaded, and loading costs a checksum.
//!
//! ```
//! # #[cfg(feature = "weights")] {
//! use twining_embed::{Matrix, Model};
//!
//! let model = Model::built_in()?;
//! let mut matrix = Matrix::default();
//! for text in ["use redis for the session cache", "bread needs yeast"] {
//!     matrix.push(&model.embed(text).pack());
//! }
//! let scores = matrix.scores(&model.embed("where do we keep sessions?"));
//! assert!(scores[0] > scores[1]);
//! # }
//! # Ok::<(), twining_embed::ModelError>(())
//! ```
//!
//! Weights are int8 with a scale per row, activations are 8 bits per token; sums
//! are exact integers and the rest is `f32` in an order the source fixes. The same
//! text therefore gives the same bits on every processor, whichever instructions
//! it offers (`level`).
//!
//! The crate touches no disk, no clock and no environment: it takes bytes.

mod aligned;
mod attention;
mod flat_index;
mod forward;
mod instruction_set;
mod linear;
mod math;
mod model;
mod model_file;
mod tokenizer;
mod vector;
mod weights;

pub use flat_index::Matrix;
pub use model::{Model, WINDOW};
pub use model_file::ModelError;
pub use vector::{DIMENSIONS, PACKED_BYTES, PackedVector, Vector};
