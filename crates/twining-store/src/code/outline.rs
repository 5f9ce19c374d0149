//! What a version of a file defines.

use twining_code::{Definition, Language, SourceFile};
use twining_model::Place;

/// The definitions of one version of a file.
#[derive(Clone, Debug)]
pub struct SourceOutline {
    /// The language of its grammar, if there is one.
    pub language: Option<Language>,
    /// Whether it was read as a whole.
    pub coarse: bool,
    /// Whether the grammar finds errors in it: of what is around them, it may tell no definitions.
    pub has_errors: bool,
    /// The file as one definition.
    pub whole: Definition,
    /// Its definitions in order; none of a coarse file.
    pub definitions: Vec<Definition>,
}

impl SourceOutline {
    /// What is at a place in the file: a definition, or the file itself.
    #[must_use]
    pub fn at(&self, place: &Place) -> Option<&Definition> {
        match place.name() {
            Some(name) => self.named(name, place.nth()),
            None => Some(&self.whole),
        }
    }

    /// The definition of a name.
    #[must_use]
    pub fn named(&self, name: &str, nth: u32) -> Option<&Definition> {
        self.definitions.iter().find(|found| found.nth == nth && found.name == name)
    }

    /// The innermost definition around a line.
    #[must_use]
    pub fn around(&self, line: u32) -> Option<&Definition> {
        let around = self
            .definitions
            .iter()
            .filter(|found| found.first_line <= line && line <= found.last_line);
        around.min_by_key(|found| found.last_line - found.first_line)
    }
}

impl From<SourceFile> for SourceOutline {
    fn from(file: SourceFile) -> Self {
        let SourceFile { language, coarse, has_errors, whole, definitions, .. } = file;
        let definitions = if coarse { Vec::new() } else { definitions };
        Self { language, coarse, has_errors, whole, definitions }
    }
}
