//! Likeness of two pieces of code, estimated from 32 bytes each.
//!
//! A sketch keeps, for each of 32 hash functions, the low byte of the least hash among all runs
//! of three tokens. Two pieces that share a part `j` of their runs share about `j` of these bytes,
//! and one in 256 of the others by coincidence.
//!
//! The minima of a definition are those of the definitions in it and of the tokens between them, so
//! each token is hashed once, however deep it is nested.

use std::ops::Range;

/// Bytes of a sketch.
const WIDTH: usize = 32;

/// Under so many tokens a likeness says nothing: two pieces are equal or not.
pub const FEWEST_TOKENS: u32 = 12;

/// What is kept of a definition's runs of three tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sketch(pub [u8; WIDTH]);

/// How much of their runs of three tokens two definitions share, from 0 to 1.
///
/// With fewer than [`FEWEST_TOKENS`] on either side the answer means nothing: ask whether the
/// hashes are equal.
#[must_use]
pub fn likeness(one: &Sketch, other: &Sketch) -> f64 {
    const COINCIDENCE: f64 = 1.0 / 256.0;
    let same = one.0.iter().zip(&other.0).filter(|(one, other)| one == other).count();
    let share = f64::from(u32::try_from(same).unwrap_or(u32::MAX)) / WIDTH as f64;
    ((share - COINCIDENCE) / (1.0 - COINCIDENCE)).max(0.0)
}

/// One odd factor for each hash function.
const FACTORS: [u64; WIDTH] = factors();

const fn factors() -> [u64; WIDTH] {
    let mut factors = [0; WIDTH];
    let (mut state, mut index) = (0x9E37_79B9_7F4A_7C15_u64, 0);
    while index < WIDTH {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        factors[index] = (mixed ^ (mixed >> 31)) | 1;
        index += 1;
    }
    factors
}

/// The least hash of some runs, for each hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Minima([u32; WIDTH]);

impl Minima {
    const NONE: Self = Self([u32::MAX; WIDTH]);

    fn add(&mut self, tokens: [u64; 3]) {
        let [first, second, third] = tokens;
        let run = first
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .wrapping_add(second)
            .wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
            .wrapping_add(third);
        for (least, factor) in self.0.iter_mut().zip(FACTORS) {
            // The upper half of the product is a hash of all bits below it.
            let hash = (run.wrapping_mul(factor) >> 32) as u32;
            *least = (*least).min(hash);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (least, other) in self.0.iter_mut().zip(other.0) {
            *least = (*least).min(other);
        }
    }

    fn sketch(self) -> Sketch {
        Sketch(self.0.map(|hash| hash.to_le_bytes()[0]))
    }
}

/// The tokens of a definition, and those of its own name among them.
#[derive(Clone, Debug)]
pub(crate) struct TokenSpan {
    pub(crate) all: Range<usize>,
    pub(crate) own_name: Range<usize>,
}

/// Makes the sketches of all definitions of a file.
pub(crate) struct Sketcher<'t> {
    tokens: &'t [u64],
    /// The spans from the outside in, each with its index in what was given.
    order: Vec<(usize, TokenSpan)>,
    /// For each of `order`: the first span inside it, and the next one beside it.
    first_inner: Vec<Option<usize>>,
    next: Vec<Option<usize>>,
    minima: Vec<Minima>,
}

impl<'t> Sketcher<'t> {
    /// The sketch of each span, and that of the whole file.
    pub(crate) fn sketches(tokens: &'t [u64], spans: &[TokenSpan]) -> (Vec<Sketch>, Sketch) {
        let mut order: Vec<(usize, TokenSpan)> = spans.iter().cloned().enumerate().collect();
        order.sort_by_key(|(_, span)| (span.all.start, usize::MAX - span.all.end));
        let mut sketcher = Self {
            tokens,
            first_inner: vec![None; order.len()],
            next: vec![None; order.len()],
            minima: vec![Minima::NONE; order.len()],
            order,
        };
        let first = sketcher.nest();
        let mut sketches = vec![Minima::NONE.sketch(); spans.len()];
        // Inner spans come after outer ones, so backwards they are known when they are needed.
        for at in (0..sketcher.order.len()).rev() {
            let Some((given, span)) = sketcher.order.get(at).cloned() else { continue };
            let (own, inner) = (span.own_name, sketcher.first_inner[at]);
            let mut minima = sketcher.between(span.all.start..own.start, inner);
            minima.merge(&sketcher.between(own.end..span.all.end, inner));
            // In the definition itself its name is left out; around it the name is a token.
            let mut without_name = minima;
            for end in own.end..(own.end + 2).min(span.all.end) {
                let Some(two) = own.start.checked_sub(2 - (end - own.end)) else { continue };
                let tokens = [two..own.start, own.end..end + 1].into_iter().flatten();
                if two >= span.all.start
                    && let Some(run) = sketcher.run(tokens)
                {
                    without_name.add(run);
                }
            }
            for end in own.start.max(span.all.start + 2)..(own.end + 2).min(span.all.end) {
                if let Some(run) = sketcher.run(end - 2..=end) {
                    minima.add(run);
                }
            }
            sketcher.minima[at] = minima;
            sketches[given] = without_name.sketch();
        }
        (sketches, sketcher.between(0..tokens.len(), first).sketch())
    }

    /// Notes which span is in which; answers with the first of the outermost ones.
    fn nest(&mut self) -> Option<usize> {
        // The spans around the current one, and the last one inside each.
        let mut around: Vec<usize> = Vec::new();
        let mut last_inner: Vec<Option<usize>> = vec![None; self.order.len()];
        let (mut first_outermost, mut last_outermost) = (None, None);
        for at in 0..self.order.len() {
            let start = self.order[at].1.all.start;
            while around.pop_if(|outer| self.order[*outer].1.all.end <= start).is_some() {}
            let (first, last) = match around.last() {
                Some(outer) => (&mut self.first_inner[*outer], &mut last_inner[*outer]),
                None => (&mut first_outermost, &mut last_outermost),
            };
            match last.replace(at) {
                Some(before) => self.next[before] = Some(at),
                None => *first = Some(at),
            }
            around.push(at);
        }
        first_outermost
    }

    fn run(&self, tokens: impl IntoIterator<Item = usize>) -> Option<[u64; 3]> {
        let mut found = tokens.into_iter().map(|at| self.tokens.get(at).copied());
        Some([found.next()??, found.next()??, found.next()??])
    }

    /// The minima of the runs in a range; `inner` is the first of the spans in and around it that
    /// lie beside each other.
    fn between(&self, range: Range<usize>, mut inner: Option<usize>) -> Minima {
        let mut minima = Minima::NONE;
        let mut end = range.start + 2;
        while let Some(at) = inner {
            inner = self.next[at];
            let span = &self.order[at].1.all;
            let is_inside = range.start <= span.start && span.end <= range.end;
            if !is_inside || span.len() < 3 || span.end < end {
                continue;
            }
            // Runs that end before the inner span, or that it holds only in part.
            self.add_runs(&mut minima, end..span.start + 2);
            minima.merge(&self.minima[at]);
            end = end.max(span.end);
        }
        self.add_runs(&mut minima, end..range.end);
        minima
    }

    /// Adds the runs whose last tokens are in a range.
    fn add_runs(&self, minima: &mut Minima, ends: Range<usize>) {
        if ends.start >= ends.end || ends.start < 2 {
            return;
        }
        let tokens = self.tokens.get(ends.start - 2..ends.end.min(self.tokens.len()));
        for run in tokens.unwrap_or_default().windows(3) {
            if let [first, second, third] = run {
                minima.add([*first, *second, *third]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of the token that a number stands for.
    fn token(number: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
    }

    fn sketch(numbers: impl IntoIterator<Item = u64>) -> Sketch {
        let tokens: Vec<u64> = numbers.into_iter().map(token).collect();
        Sketcher::sketches(&tokens, &[]).1
    }

    #[test]
    fn code_is_wholly_like_itself_and_not_like_other_code() {
        let one = sketch(0..200);
        assert!((likeness(&one, &one) - 1.0).abs() < 1e-9);
        assert!(likeness(&one, &sketch(1_000..1_200)) < 0.1);
    }

    #[test]
    fn half_the_runs_give_about_a_half() {
        let mean = (0..40)
            .map(|at| {
                let from = at * 10_000;
                likeness(&sketch(from..from + 300), &sketch(from + 100..from + 400))
            })
            .sum::<f64>()
            / 40.0;
        assert!((0.42..0.58).contains(&mean), "{mean}");
    }

    proptest::proptest! {
        #[test]
        fn nested_spans_have_the_sketches_of_their_tokens(
            cuts in proptest::collection::vec((0..40_usize, 0..40_usize, 0..4_usize), 0..12),
        ) {
            let tokens: Vec<u64> = (0..40).map(token).collect();
            let mut spans: Vec<TokenSpan> = Vec::new();
            for (start, end, name) in cuts {
                let (start, end) = (start.min(end), start.max(end) + 1);
                let apart = |other: &Range<usize>| other.end <= start || end <= other.start;
                let within = |other: &Range<usize>| {
                    (other.start <= start && end <= other.end)
                        || (start <= other.start && other.end <= end)
                };
                if spans.iter().all(|other| apart(&other.all) || within(&other.all)) {
                    let own_name = (start + name).min(end)..(start + name + 1).min(end);
                    spans.push(TokenSpan { all: start..end, own_name });
                }
            }
            let (sketches, whole) = Sketcher::sketches(&tokens, &spans);
            proptest::prop_assert_eq!(whole, sketch(0..40));
            for (span, found) in spans.iter().zip(sketches) {
                let kept = (span.all.clone()).filter(|at| !span.own_name.contains(at));
                proptest::prop_assert_eq!(found, sketch(kept.map(|at| at as u64)), "{:?}", span);
            }
        }
    }
}
