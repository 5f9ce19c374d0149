//! What can be wrong with the bytes of a model.

/// Why bytes are not a model this build can compute from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// There is less than the header promises.
    #[error("the model is cut short: {found} bytes of {wanted}")]
    Truncated {
        /// Bytes there should be.
        wanted: u64,
        /// Bytes there are.
        found: u64,
    },
    /// There is more than the header promises.
    #[error("the model has {extra} bytes after its end")]
    Trailing {
        /// How many.
        extra: u64,
    },
    /// These bytes are something else.
    #[error("this is not a packed model: it does not begin with `TWNEMBED`")]
    Magic,
    /// Packed by another version of `scripts/pack-model`.
    #[error("the model is packed in format {found}; this build reads format {wanted}")]
    Version {
        /// The format this build reads.
        wanted: u32,
        /// The format the file names.
        found: u32,
    },
    /// The bytes changed since they were packed.
    #[error("the model's checksum is {found:016x}; its header says {wanted:016x}")]
    Checksum {
        /// What the header says.
        wanted: u64,
        /// What the bytes add up to.
        found: u64,
    },
    /// The bytes are whole, but not of this model.
    #[error("section {section} of the model is not what this build expects: {what}")]
    Section {
        /// Which one, from zero, in the order of the table.
        section: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}
