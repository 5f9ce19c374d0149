//! Vectors: as computed, and packed for the index.

/// Numbers in a vector.
pub const DIMENSIONS: usize = crate::model_file::WIDTH;
/// Bytes of a packed vector: one per number, and the scale.
pub const PACKED_BYTES: usize = DIMENSIONS + size_of::<f32>();

/// Where a text points to, at length one.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector([f32; DIMENSIONS]);

/// A vector with a byte per number.
///
/// Invariant: the scale is finite and not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedVector {
    scale: f32,
    numbers: [i8; DIMENSIONS],
}

impl Vector {
    /// Scales numbers to length one; all zeros, and numbers that are none, become zeros.
    #[must_use]
    pub fn normalised(mut numbers: [f32; DIMENSIONS]) -> Self {
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        if !length.is_normal() {
            return Self([0.0; DIMENSIONS]);
        }
        for number in &mut numbers {
            *number /= length;
        }
        Self(numbers)
    }

    /// The numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// How alike two vectors are: one for the same direction, zero for nothing in common.
    #[must_use]
    pub fn dot(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// A byte per number.
    #[must_use]
    pub fn pack(&self) -> PackedVector {
        let (scale, numbers) = quantise(&self.0, i8::MAX.into());
        PackedVector { scale, numbers: numbers.map(|number| number as i8) }
    }

    /// Finer than packed, for the query side of a search: 16 bits per number.
    pub(crate) fn to_i16(&self) -> (f32, [i16; DIMENSIONS]) {
        let (scale, numbers) = quantise(&self.0, i16::MAX.into());
        (scale, numbers.map(|number| number as i16))
    }
}

fn quantise(numbers: &[f32; DIMENSIONS], most: f32) -> (f32, [i32; DIMENSIONS]) {
    let greatest = numbers.iter().fold(0.0_f32, |greatest, number| greatest.max(number.abs()));
    // A vector of zeros keeps a scale of zero.
    let per_step = if greatest > 0.0 { most / greatest } else { 0.0 };
    (greatest / most, numbers.map(|number| (number * per_step).round_ties_even() as i32))
}

impl PackedVector {
    /// What each number is multiplied by.
    #[must_use]
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// The numbers.
    #[must_use]
    pub fn numbers(&self) -> &[i8] {
        &self.numbers
    }

    pub(crate) fn array(&self) -> &[i8; DIMENSIONS] {
        &self.numbers
    }

    /// Scale first, little-endian, then the numbers.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PACKED_BYTES] {
        let mut bytes = [0; PACKED_BYTES];
        let (scale, numbers) = bytes.split_at_mut(size_of::<f32>());
        scale.copy_from_slice(&self.scale.to_le_bytes());
        numbers.copy_from_slice(bytemuck::cast_slice(&self.numbers));
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; none where it is of another length or has no scale.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; PACKED_BYTES] = bytes.try_into().ok()?;
        let [a, b, c, d, ..] = *bytes;
        let scale = f32::from_le_bytes([a, b, c, d]);
        (scale.is_finite() && !scale.is_sign_negative())
            .then(|| Self { scale, numbers: std::array::from_fn(|at| bytes[at + 4] as i8) })
    }
}
