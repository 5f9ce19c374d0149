//! The model: bytes in, vectors out.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use crate::forward::{ForwardBuffers, forward};
use crate::instruction_set::InstructionSet;
use crate::model_file::ModelError;
use crate::model_file::{ModelFile, POSITIONS};
use crate::tokenizer;
use crate::tokenizer::Vocabulary;
use crate::tokenizer::{CLOSE, OPEN};
use crate::vector::Vector;
use crate::weights::ModelWeights;

/// Tokens the model sees at once, the opening and closing ones included.
pub const WINDOW: usize = POSITIONS;

/// Tokens of a window that belong to the text; what lies behind is not read, as in
/// sentence-transformers for this model.
const INSIDE: usize = WINDOW - 2;
/// Tokens that share a pass: enough that each weight read from memory is used often.
const PASS: usize = 128;

/// A model that was checked and is ready.
pub struct Model {
    layout: ModelFile,
    level: InstructionSet,
    /// Buffers of finished passes, reused by later ones.
    spare: Mutex<Vec<ForwardBuffers>>,
}

impl Model {
    /// The model compiled into this program.
    #[cfg(feature = "weights")]
    pub fn built_in() -> Result<Self, ModelError> {
        /// Begins where a cache line begins, so that the bytes are used in place.
        #[repr(C, align(64))]
        struct AlignedBytes<Bytes: ?Sized>(Bytes);
        static WEIGHTS: &AlignedBytes<[u8]> =
            &AlignedBytes(*include_bytes!("../model/minilm-history.int8.bin"));
        Self::from_bytes(&WEIGHTS.0)
    }

    /// A model from the bytes of the packed file, all of which are checked.
    ///
    /// Bytes that begin at a multiple of 64 are used in place, others are copied.
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, ModelError> {
        Ok(Self {
            layout: ModelFile::read(bytes.into())?,
            level: InstructionSet::best(),
            spare: Mutex::default(),
        })
    }

    /// Its name and version.
    #[must_use]
    pub fn name(&self) -> &str {
        self.layout.name()
    }

    /// Checksum of its name, version and weights, which tells its vectors from those of another.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.layout.checksum()
    }

    /// The vector of a text, of its first window when it is long.
    #[must_use]
    pub fn embed(&self, text: &str) -> Vector {
        self.pass(&[&self.window(text)], false).swap_remove(0)
    }

    /// Hands each text's number and vector to `done` as they come, in any order, until it breaks.
    ///
    /// `done` runs on the calling thread. After a break the passes under way are
    /// finished and dropped.
    pub fn embed_each<Text: AsRef<str> + Sync>(
        &self,
        texts: &[Text],
        threads: usize,
        mut done: impl FnMut(usize, Vector) -> ControlFlow<()>,
    ) {
        let next = AtomicUsize::new(0);
        if threads <= 1 {
            while let Some(batch) = self.batch(texts, &next) {
                if self.embed_batch(&batch, &mut done).is_break() {
                    return;
                }
            }
            return;
        }
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..threads.min(texts.len()) {
                let (sender, next, stopped) = (sender.clone(), &next, &stopped);
                scope.spawn(move || {
                    // The receiver is gone after a break: then there is nobody to tell.
                    let mut send = |number, vector| match sender.send((number, vector)) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    };
                    while !stopped.load(Ordering::Relaxed)
                        && let Some(batch) = self.batch(texts, next)
                    {
                        let _ = self.embed_batch(&batch, &mut send);
                    }
                });
            }
            drop(sender);
            for (number, vector) in receiver {
                if done(number, vector).is_break() {
                    stopped.store(true, Ordering::Relaxed);
                    return;
                }
            }
        });
    }

    /// A text's tokens, the opening and closing ones included, however many.
    #[must_use]
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        enclose(&tokenizer::tokens(&Vocabulary::of(&self.layout), text, usize::MAX))
    }

    /// The first tokens of a text, as many as the model sees.
    fn window(&self, text: &str) -> Vec<u32> {
        enclose(&tokenizer::tokens(&Vocabulary::of(&self.layout), text, INSIDE))
    }

    /// Takes as many texts as fill a pass; none when all are taken.
    fn batch<Text: AsRef<str>>(
        &self,
        texts: &[Text],
        next: &AtomicUsize,
    ) -> Option<Vec<(usize, Vec<u32>)>> {
        let (mut batch, mut tokens) = (Vec::new(), 0);
        while tokens < PASS {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(number) else { break };
            let window = self.window(text.as_ref());
            tokens += window.len();
            batch.push((number, window));
        }
        (!batch.is_empty()).then_some(batch)
    }

    fn embed_batch(
        &self,
        batch: &[(usize, Vec<u32>)],
        done: &mut impl FnMut(usize, Vector) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let windows: Vec<&[u32]> = batch.iter().map(|(_, window)| window.as_slice()).collect();
        let vectors = windows.chunk_by(share_a_pass()).flat_map(|windows| self.pass(windows, true));
        batch.iter().zip(vectors).try_for_each(|((number, _), vector)| done(*number, vector))
    }

    fn pass(&self, sequences: &[&[u32]], yields: bool) -> Vec<Vector> {
        // A panic while the lock is held leaves a list of buffers, which is good as it is.
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = spare().pop().unwrap_or_default();
        let vectors =
            forward(self.level, &ModelWeights::of(&self.layout), sequences, yields, &mut scratch);
        spare().push(scratch);
        vectors
    }
}

/// Returns a check whether the next window still fits in the current pass.
fn share_a_pass() -> impl FnMut(&&[u32], &&[u32]) -> bool {
    let mut tokens = 0;
    move |before, after| {
        tokens += before.len();
        let fits = tokens + after.len() <= 2 * PASS;
        if !fits {
            tokens = 0;
        }
        fits
    }
}

fn enclose(tokens: &[u32]) -> Vec<u32> {
    let mut enclosed = Vec::with_capacity(tokens.len() + 2);
    enclosed.push(OPEN);
    enclosed.extend_from_slice(tokens);
    enclosed.push(CLOSE);
    enclosed
}

#[cfg(all(test, feature = "weights"))]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut model = Model::built_in().expect("the packed model is whole");
        let texts = [
            "",
            "use redis for the session cache",
            "fn main() { println!(\"日本\"); } // naïve 🚀, and then seventeen tokens more or so",
        ];
        let best = texts.map(|text| model.embed(text));
        each(InstructionSet::available(), |level| {
            model.level = level;
            assert_eq!(texts.map(|text| model.embed(text)), best, "{level:?}");
        });
    }
}
