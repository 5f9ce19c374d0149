//! An event looked at once: what it would do, worked out a single time, and in
//! short what a guard must be about to have a say.

use crate::guards::change::{Files, Touched, Where, touched};
use crate::guards::event::Event;
use crate::guards::shell::{Unreadable, Word};

/// What an event would do.
#[derive(Clone, Debug)]
pub struct Look {
    pub(crate) touched: Result<Touched, Unreadable>,
    near: Near,
}

/// Where it happens, folded as rules are.
#[derive(Clone, Debug, Default)]
struct Near {
    /// Whether it may happen anywhere, as far as can be told.
    anywhere: bool,
    /// Files that are read or written.
    files: Vec<String>,
    /// Folders of which everything is.
    folders: Vec<String>,
    /// Names of the programs that are run.
    programs: Vec<String>,
}

impl Look {
    /// Works out what an event would do in the project at `root`.
    #[must_use]
    pub fn at(event: &Event, root: &str, files: &dyn Files) -> Self {
        let touched = touched(event, root, files);
        let near = touched.as_ref().map_or_else(|_| Near { anywhere: true, ..Near::default() }, Near::of);
        Self { touched, near }
    }

    /// Whether a program of this name may be run.
    pub(super) fn runs(&self, program: &str) -> bool {
        self.touched.is_err() || self.near.programs.iter().any(|known| known == program)
    }

    /// Whether something happens at or below a place, or to a whole that holds it.
    pub(super) fn comes_near(&self, place: &str) -> bool {
        let Near { anywhere, files, folders, .. } = &self.near;
        *anywhere
            || files.iter().any(|file| lies_in(file, place))
            || folders.iter().any(|folder| lies_in(folder, place) || lies_in(place, folder))
    }
}

impl Near {
    fn of(touched: &Touched) -> Self {
        let mut near = Self { files: touched.reads.iter().map(|path| path.to_lowercase()).collect(), ..Self::default() };
        for proposal in &touched.writes {
            match &proposal.at {
                Where::Below(path) if !path.starts_with('/') => near.folders.push(path.trim_matches('/').to_lowercase()),
                Where::Known(path) | Where::Below(path) => near.files.push(path.to_lowercase()),
                // A name with holes, and code, are for the guards themselves to read.
                Where::Holes(_) | Where::Code(_) => near.anywhere = true,
            }
        }
        let programs = touched.runs.iter().filter_map(|run| run.first()).map(Word::gist);
        near.programs = programs.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned()).collect();
        for names in [&mut near.files, &mut near.folders, &mut near.programs] {
            names.sort_unstable();
            names.dedup();
        }
        near
    }
}

/// Whether a path is a place or lies below it; everything lies in nothing named.
fn lies_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| place.is_empty() || rest.is_empty() || rest.starts_with('/'))
}
