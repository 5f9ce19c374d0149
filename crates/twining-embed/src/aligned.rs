//! Buffers that begin where a cache line begins.
//!
//! A wide load that straddles two lines costs two. Vectors of the standard library
//! are aligned for their element only, so a little more is allocated and the
//! beginning left out.

use std::ops::{Deref, DerefMut};

/// The bytes of a cache line.
pub const LINE: usize = 64;

/// A slice that begins at a multiple of 64 bytes.
#[derive(Default)]
pub struct AlignedBuffer<Number> {
    buffer: Vec<Number>,
    start: usize,
    length: usize,
}

impl<Number: Copy + Default> AlignedBuffer<Number> {
    /// A copy of `numbers`.
    pub fn copy_of(numbers: &[Number]) -> Self {
        let mut aligned = Self { buffer: Vec::new(), start: 0, length: 0 };
        aligned.resize(numbers.len());
        aligned.copy_from_slice(numbers);
        aligned
    }

    /// Makes the slice so long; what it holds is anything.
    pub fn resize(&mut self, length: usize) {
        let slack = LINE / size_of::<Number>();
        if self.buffer.len() < length + slack {
            self.buffer = vec![Number::default(); length + slack];
            self.start = (self.buffer.as_ptr().addr().wrapping_neg() % LINE) / size_of::<Number>();
        }
        self.length = length;
    }
}

impl<Number> Deref for AlignedBuffer<Number> {
    type Target = [Number];

    fn deref(&self) -> &[Number] {
        &self.buffer[self.start..][..self.length]
    }
}

impl<Number> DerefMut for AlignedBuffer<Number> {
    fn deref_mut(&mut self) -> &mut [Number] {
        &mut self.buffer[self.start..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn it_begins_at_a_line_however_often_it_grows() {
        let mut aligned = AlignedBuffer::<f32>::default();
        each([1, 7, 100, 3, 10_000], |length| {
            aligned.resize(length);
            assert_eq!(aligned.len(), length);
            assert!(aligned.as_ptr().addr().is_multiple_of(LINE));
        });
    }
}
