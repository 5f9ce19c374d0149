//! What this processor offers, and how code compiled for it is reached.
//!
//! Every kernel is plain Rust that is compiled once per level, or one small tile of
//! vector instructions per level. All of them compute the same bits: integers are
//! summed exactly, and floats in the order the source gives, never fused.

/// Instructions that were found on this processor.
///
/// Invariant: made by asking the processor, so holding one is proof enough to call
/// code compiled for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet(InstructionKind);

/// Sets of instructions, each with more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionKind {
    /// What every processor of this kind has.
    Portable,
    /// 256 bits wide.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 256 bits wide, with byte products.
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    /// 512 bits wide, with byte products.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// The level that needs nothing.
    pub const PORTABLE: Self = Self(InstructionKind::Portable);

    /// Every level this processor has, the best last.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            levels.push(Self(InstructionKind::Avx2));
            if is_x86_feature_detected!("avxvnni") {
                levels.push(Self(InstructionKind::AvxVnni));
            }
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl");
            if wide
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vnni")
            {
                levels.push(Self(InstructionKind::Avx512));
            }
        }
        levels
    }

    /// The best this processor has.
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::PORTABLE)
    }

    /// Which instructions those are.
    pub fn instructions(self) -> InstructionKind {
        self.0
    }
}

/// Compiles the body of a function once per level and calls the one asked for.
///
/// The body must be plain code, with what it calls marked `#[inline(always)]`:
/// only what is inlined is compiled for the level.
macro_rules! by_level {
    ($(#[$doc:meta])* pub fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "code for a processor that was found to have the instructions"))]
        pub fn $name(level: $crate::instruction_set::InstructionSet, $($arg: $type),*) $(-> $result)? {
            #[inline(always)]
            fn portable($($arg: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $type),*) $(-> $result)? {
                portable($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $type),*) $(-> $result)? {
                portable($($arg),*)
            }

            match level.instructions() {
                $crate::instruction_set::InstructionKind::Portable => portable($($arg),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a `Level` of this kind exists only where the processor has AVX2.
                $crate::instruction_set::InstructionKind::Avx2 | $crate::instruction_set::InstructionKind::AvxVnni => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a `Level` of this kind exists only where the processor has these four.
                $crate::instruction_set::InstructionKind::Avx512 => unsafe { avx512($($arg),*) },
            }
        }
    };
}
pub(crate) use by_level;
