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
use crate::vector::{DIMENSIONS, Vector};
use crate::weights::ModelWeights;

/// Tokens the model sees at once, the opening and closing ones included.
pub const WINDOW: usize = POSITIONS;
/// Tokens that a window shares with the next, so that no sentence is torn in both.
pub const WINDOW_OVERLAP: usize = 64;
/// Windows of one text; what lies behind them is not read. About 3,100 tokens.
pub const MOST_WINDOWS: usize = 16;

/// Tokens of a window that belong to the text.
const INSIDE: usize = WINDOW - 2;
/// Tokens that share a pass: enough that each weight read from memory is used often.
const PASS: usize = 128;

/// What to do with a text of more than 256 tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongText {
    /// Only the first window counts. So does sentence-transformers for this model.
    #[default]
    First,
    /// One vector: the mean over all windows.
    Pooled,
    /// A vector for each window.
    Each,
}

/// How to embed many texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkOptions {
    /// How many threads work; none means one.
    pub threads: usize,
    /// What to do with long texts.
    pub long: LongText,
}

/// A model that was checked and is ready.
pub struct Model {
    layout: ModelFile,
    level: InstructionSet,
    /// Room left behind by passes that are over, for those to come.
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
            &AlignedBytes(*include_bytes!("../model/all-MiniLM-L6-v2.int8.bin"));
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

    /// What tells this model's vectors from another's: its checksum.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.layout.checksum()
    }

    /// The vector of a text, of its first window when it is long.
    #[must_use]
    pub fn embed(&self, text: &str) -> Vector {
        let windows = self.windows(text, LongText::First);
        combine(self.pass(&[&windows[0]]))
    }

    /// The vectors of one text: several only for [`Long::Each`], never none.
    #[must_use]
    pub fn embed_long(&self, text: &str, long: LongText) -> Vec<Vector> {
        let windows = self.windows(text, long);
        // One window at a time: together they would need room for them all.
        let vectors = windows.iter().flat_map(|window| self.pass(&[window])).collect();
        finish(vectors, long)
    }

    /// The vector of each text, of its first window when it is long.
    #[must_use]
    pub fn embed_all<Text: AsRef<str> + Sync>(
        &self,
        texts: &[Text],
        threads: usize,
    ) -> Vec<Vector> {
        let mut vectors: Vec<Option<Vector>> = vec![None; texts.len()];
        self.embed_each(texts, BulkOptions { threads, long: LongText::First }, |number, found| {
            vectors[number] = found.into_iter().next();
            ControlFlow::Continue(())
        });
        vectors
            .into_iter()
            .map(|vector| vector.expect("every text was embedded, as nobody broke off"))
            .collect()
    }

    /// Hands each text's number and vectors to `done` as they come, in any order, until it breaks.
    ///
    /// `done` runs on the calling thread. After a break the passes under way are
    /// finished and dropped, which for [`Long::Pooled`] and [`Long::Each`] may be a whole long text.
    pub fn embed_each<Text: AsRef<str> + Sync>(
        &self,
        texts: &[Text],
        bulk: BulkOptions,
        mut done: impl FnMut(usize, Vec<Vector>) -> ControlFlow<()>,
    ) {
        let next = AtomicUsize::new(0);
        if bulk.threads <= 1 {
            while let Some(batch) = self.batch(texts, bulk.long, &next) {
                if self.embed_batch(&batch, bulk.long, &mut done).is_break() {
                    return;
                }
            }
            return;
        }
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..bulk.threads.min(texts.len()) {
                let (sender, next, stopped) = (sender.clone(), &next, &stopped);
                scope.spawn(move || {
                    while !stopped.load(Ordering::Relaxed)
                        && let Some(batch) = self.batch(texts, bulk.long, next)
                    {
                        // The receiver is gone after a break: then there is nobody to tell.
                        let _ =
                            self.embed_batch(
                                &batch,
                                bulk.long,
                                &mut |number, vectors| match sender.send((number, vectors)) {
                                    Ok(()) => ControlFlow::Continue(()),
                                    Err(_) => ControlFlow::Break(()),
                                },
                            );
                    }
                });
            }
            drop(sender);
            for (number, vectors) in receiver {
                if done(number, vectors).is_break() {
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

    /// A text as windows of tokens: one at least, overlapping when there are more.
    fn windows(&self, text: &str, long: LongText) -> Vec<Vec<u32>> {
        let stride = INSIDE - WINDOW_OVERLAP;
        let windows = if long == LongText::First { 1 } else { MOST_WINDOWS };
        let tokens =
            tokenizer::tokens(&Vocabulary::of(&self.layout), text, INSIDE + (windows - 1) * stride);
        let more = tokens.len().saturating_sub(INSIDE).div_ceil(stride);
        (0..=more)
            .map(|window| {
                enclose(&tokens[window * stride..tokens.len().min(window * stride + INSIDE)])
            })
            .collect()
    }

    /// Takes as many texts as fill a pass; none when all are taken.
    fn batch<Text: AsRef<str>>(
        &self,
        texts: &[Text],
        long: LongText,
        next: &AtomicUsize,
    ) -> Option<Vec<(usize, Vec<Vec<u32>>)>> {
        let (mut batch, mut tokens) = (Vec::new(), 0);
        while tokens < PASS {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(number) else { break };
            let windows = self.windows(text.as_ref(), long);
            tokens += windows.iter().map(Vec::len).sum::<usize>();
            batch.push((number, windows));
        }
        (!batch.is_empty()).then_some(batch)
    }

    fn embed_batch(
        &self,
        batch: &[(usize, Vec<Vec<u32>>)],
        long: LongText,
        done: &mut impl FnMut(usize, Vec<Vector>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let windows: Vec<&[u32]> =
            batch.iter().flat_map(|(_, windows)| windows.iter().map(Vec::as_slice)).collect();
        let mut vectors = windows.chunk_by(share_a_pass()).flat_map(|windows| self.pass(windows));
        for (number, windows) in batch {
            done(*number, finish(vectors.by_ref().take(windows.len()).collect(), long))?;
        }
        ControlFlow::Continue(())
    }

    fn pass(&self, sequences: &[&[u32]]) -> Vec<Vector> {
        // A panic while the lock is held leaves a list of buffers, which is good as it is.
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = spare().pop().unwrap_or_default();
        let vectors = forward(self.level, &ModelWeights::of(&self.layout), sequences, &mut scratch);
        spare().push(scratch);
        vectors
    }
}

/// Tells whether the next window still fits in the pass of the one before.
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

fn finish(vectors: Vec<Vector>, long: LongText) -> Vec<Vector> {
    match long {
        LongText::Each => vectors,
        LongText::First | LongText::Pooled => vec![combine(vectors)],
    }
}

/// The mean of vectors, at length one; one vector stays as it is.
fn combine(mut vectors: Vec<Vector>) -> Vector {
    if vectors.len() == 1 {
        return vectors.swap_remove(0);
    }
    let mut sums = [0.0; DIMENSIONS];
    for vector in &vectors {
        for (sum, number) in sums.iter_mut().zip(vector.as_slice()) {
            *sum += number;
        }
    }
    Vector::normalised(sums)
}

#[cfg(all(test, feature = "weights"))]
mod tests {
    use super::*;

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut model = Model::built_in().expect("the packed model is whole");
        let texts = [
            "",
            "use redis for the session cache",
            "fn main() { println!(\"日本\"); } // naïve 🚀, and then seventeen tokens more or so",
        ];
        let best = texts.map(|text| model.embed(text));
        for level in InstructionSet::available() {
            model.level = level;
            assert_eq!(texts.map(|text| model.embed(text)), best, "{level:?}");
        }
    }
}
