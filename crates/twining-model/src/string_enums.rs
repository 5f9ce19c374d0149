//! Enums that are words in files: each variant is written once, with its word.

/// Makes an enum whose variants are words of the file format or of an input.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        $vis enum $name { $($(#[$about])* $variant),+ }

        impl $name {
            /// Every value.
            $vis const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// The word for it in files.
            #[must_use]
            $vis fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads the word in a file, which a newer version may have added.
            #[must_use]
            $vis fn read(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == word)
            }

            /// Reads the word an agent gave.
            $vis fn parse(field: &'static str, word: &str) -> Result<Self, $crate::limits::InvalidInput> {
                Self::read(word.trim()).ok_or_else(|| {
                    let known = Self::ALL.map(Self::as_str).join(", ");
                    $crate::limits::InvalidInput::new(field, format!("must be one of {known}"))
                        .because(format!("`{}` is not one of them", $crate::text::excerpt(word, 40)))
                })
            }
        }
    };
}

pub(crate) use words;
