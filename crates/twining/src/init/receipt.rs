//! The receipt: for each file that was changed, what it is known by afterwards and
//! how to make it as it was. A file that nobody touched since is restored to the
//! byte; for any other, what is ours is looked for and taken out.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twining_store::disk::hash_of;

use super::plan::FileEdit;

/// Everything that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// Files, by where they are.
    files: Vec<ReceiptFile>,
    /// Folders that were made, the outer before the inner.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReceiptFile {
    path: PathBuf,
    /// Identifies what we wrote.
    after: String,
    undo: UndoEdit,
    /// Its mode before us and after, if that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modes: Option<(u32, u32)>,
}

/// How a file becomes what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UndoEdit {
    /// It was not there.
    Remove,
    /// A piece of it was another.
    Splice { at: usize, length: usize, text: String },
}

/// What a receipt says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OriginalContent {
    /// Nothing: it was not written by us, or it changed since.
    Unknown,
    /// There was none.
    Absent,
    /// This.
    Text(String),
}

impl Receipt {
    /// Reads one; what is no receipt is none.
    pub(super) fn read(bytes: Option<&[u8]>) -> Self {
        bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// As it is kept.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        let empty = self.files.is_empty() && self.folders.is_empty();
        if empty { None } else { serde_json::to_vec_pretty(self).ok() }
    }

    /// What a file was before we came, if it still is what we made of it.
    pub(super) fn original(&self, path: &Path, now: &str) -> OriginalContent {
        let Some(item) =
            self.files.iter().find(|item| item.path == path && item.after == fingerprint(now))
        else {
            return OriginalContent::Unknown;
        };
        match &item.undo {
            UndoEdit::Remove => OriginalContent::Absent,
            UndoEdit::Splice { at, length, text } => match (now.get(..*at), now.get(at + length..))
            {
                (Some(head), Some(tail)) => OriginalContent::Text(format!("{head}{text}{tail}")),
                _ => OriginalContent::Unknown,
            },
        }
    }

    /// How many bytes were put into a file that was there, in one piece.
    pub(super) fn put_in(&self, path: &Path) -> Option<usize> {
        self.files.iter().find(|item| item.path == path).and_then(|item| match &item.undo {
            UndoEdit::Splice { length, text, .. } if text.is_empty() => Some(*length),
            _ => None,
        })
    }

    /// Whether we wrote the file, whatever became of it.
    pub(super) fn knows(&self, path: &Path) -> bool {
        self.files.iter().any(|item| item.path == path)
    }

    /// Whether the file was there before us.
    pub(super) fn was_there(&self, path: &Path) -> bool {
        self.files.iter().any(|item| item.path == path && item.undo != UndoEdit::Remove)
    }

    /// Remembers an edit. `original` is what the file was before we ever came.
    pub(super) fn keep(&mut self, edit: &FileEdit, original: Option<&str>) {
        let modes = self.modes(&edit.path);
        self.forget(&edit.path);
        let Some(after) = &edit.after else { return };
        let undo = original.map_or(UndoEdit::Remove, |original| splice(after, original));
        self.files.push(ReceiptFile {
            path: edit.path.clone(),
            after: fingerprint(after),
            undo,
            modes,
        });
    }

    /// Remembers the mode a file had when it was written, and the one it has now.
    pub(super) fn keep_modes(&mut self, path: &Path, was: Option<u32>, now: Option<u32>) {
        let Some(item) = self.files.iter_mut().find(|item| item.path == path) else { return };
        let first = item.modes.filter(|(_, after)| was == Some(*after)).map(|(before, _)| before);
        item.modes = first.or(was).zip(now).filter(|(before, after)| before != after);
    }

    /// The mode a file had before us and the one we gave it, if they differ.
    pub(super) fn modes(&self, path: &Path) -> Option<(u32, u32)> {
        self.files.iter().find(|item| item.path == path).and_then(|item| item.modes)
    }

    /// Forgets files that are gone or no longer mention us.
    pub(super) fn forget_foreign_files(&mut self) {
        let speaks_of_us = |path: &Path| {
            std::fs::read(path)
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("twining"))
        };
        self.files.retain(|item| speaks_of_us(&item.path));
    }

    /// Forgets a file.
    pub(super) fn forget(&mut self, path: &Path) {
        self.files.retain(|item| item.path != path);
    }
}

fn fingerprint(text: &str) -> String {
    format!("{:016x}-{}", hash_of(text.as_bytes()), text.len())
}

/// What to change in `from` to get `to`: one piece, as small as can be.
fn splice(from: &str, to: &str) -> UndoEdit {
    let mut at = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    while !from.is_char_boundary(at) || !to.is_char_boundary(at) {
        at -= 1;
    }
    let most = from.len().min(to.len()) - at;
    let mut tail =
        from.bytes().rev().zip(to.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
    while !from.is_char_boundary(from.len() - tail) || !to.is_char_boundary(to.len() - tail) {
        tail -= 1;
    }
    UndoEdit::Splice {
        at,
        length: from.len() - tail - at,
        text: to[at..to.len() - tail].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn what_was_comes_back_unless_someone_wrote_since() {
        let texts = ["", "a", "aä", "äa", "one\ntwo\n", "one\n", "xonex", "日本", "日x本"];
        each(texts, |before| {
            for after in texts {
                let edit = FileEdit {
                    path: "f".into(),
                    shown: "f".into(),
                    before: None,
                    after: Some(after.to_owned()),
                    executable: false,
                };
                let mut receipt = Receipt::default();
                receipt.keep(&edit, Some(before));
                let kept = Receipt::read(receipt.to_bytes().as_deref());
                assert_eq!(
                    kept.original(Path::new("f"), after),
                    OriginalContent::Text(before.to_owned()),
                    "{before:?} {after:?}"
                );
                assert_eq!(
                    kept.original(Path::new("f"), &format!("{after}!")),
                    OriginalContent::Unknown
                );
                receipt.keep(&edit, None);
                assert_eq!(receipt.original(Path::new("f"), after), OriginalContent::Absent);
            }
        });
    }
}
