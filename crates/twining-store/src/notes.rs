//! Notes of hooks: small files in `local/hooks/` that one process leaves for the
//! next. Nothing is lost with them but patience.

use crate::audit::Seal;
use crate::error::StoreError;
use crate::layout::{CLAIMS, DECISIONS, random_bits};
use crate::store::Store;
use xxhash_rust::xxh3::xxh3_128;

const HOOKS: &str = "hooks";
/// Bytes of one note.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Notes that are kept; a new session clears the rest away.
const MOST_NOTES: usize = 128;

/// How notes begin that are nobody's alone.
const SHARED: [&str; 2] = ["note-shared-", "note-accepted-lists."];

/// A state of decisions and knowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingState {
    /// When a decision last came, went or was replaced, in nanoseconds since 1970.
    pub decisions: i64,
    /// What the knowledge file holds, in short.
    pub knowledge: String,
}

/// What tells some content from any other, in words.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("{:x}-{:032x}", bytes.len(), xxh3_128(bytes))
}

impl Store {
    /// Reads a note; none where there is no memory yet, or it is no note of ours.
    pub fn note(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(None) };
        let Some(hooks) = room.layout.local.open_dir(HOOKS)? else { return Ok(None) };
        Ok(hooks.open(&file_of(name))?.and_then(|handle| handle.read_all(MOST_BYTES).ok()))
    }

    /// Leaves a note. Where there is no memory yet, none is made for it.
    pub fn leave_note(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        let hooks = room.layout.local.make_dir(HOOKS)?;
        room.layout.replace(&hooks, &file_of(name), bytes, false)
    }

    /// Leaves a note that no other hand can write: it carries a keyed checksum, and a
    /// name of its own that it keeps until it is taken away.
    pub fn leave_sealed(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        let seal = Seal::make(&room.layout)?;
        let id = match self.sealed_note(name)? {
            Some((id, _)) => id,
            None => format!("{:032x}", random_bits()?),
        };
        let mac = seal.of(&[id.as_bytes(), name.as_bytes(), bytes].concat());
        self.leave_note(name, &[format!("{id} {mac:016x}\n").as_bytes(), bytes].concat())
    }

    /// What tells a text from one that another hand wrote: nobody gets it right
    /// without the key of this memory. None where there is no memory.
    pub fn sealing(&self, text: &[u8]) -> Result<Option<u64>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(None) };
        Ok(Some(Seal::make(&room.layout)?.of(text)))
    }

    /// Reads such a note; none where there is none, or another hand wrote it.
    pub fn sealed(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.sealed_note(name)?.map(|(_, bytes)| bytes))
    }

    /// The name that such a note keeps until it is taken away.
    pub fn sealed_id(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.sealed_note(name)?.map(|(id, _)| id))
    }

    fn sealed_note(&self, name: &str) -> Result<Option<(String, Vec<u8>)>, StoreError> {
        let (Some(room), Some(note)) = (self.reading_room()?, self.note(name)?) else { return Ok(None) };
        let Some(seal) = Seal::if_there(&room.layout)? else { return Ok(None) };
        let read = || -> Option<(String, Vec<u8>)> {
            let end = note.iter().position(|byte| *byte == b'\n')?;
            let (id, mac) = std::str::from_utf8(&note[..end]).ok()?.split_once(' ')?;
            let bytes = &note[end + 1..];
            let wanted = seal.of(&[id.as_bytes(), name.as_bytes(), bytes].concat());
            (u64::from_str_radix(mac, 16) == Ok(wanted)).then(|| (id.to_owned(), bytes.to_vec()))
        };
        Ok(read())
    }

    /// Adds a line to a note of lines. A hook that is waited for adds and replaces
    /// nothing: some disks flush a file that takes another's place. Each line is
    /// sealed, so that one from another hand is none.
    pub fn add_to_note(&self, name: &str, line: &str) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()?.filter(|_| !line.contains(['\n', '\t'])) else { return Ok(()) };
        let seal = Seal::make(&room.layout)?;
        let hooks = room.layout.local.make_dir(HOOKS)?;
        hooks.make_append(&file_of(name))?.write(format!("{line}\t{:016x}\n", seal.of(line.as_bytes())).as_bytes())
    }

    /// The lines of such a note, the oldest first.
    pub fn note_lines(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let Some(bytes) = self.note(name)? else { return Ok(Vec::new()) };
        let Some(room) = self.reading_room()? else { return Ok(Vec::new()) };
        let Some(seal) = Seal::if_there(&room.layout)? else { return Ok(Vec::new()) };
        let text = String::from_utf8_lossy(&bytes);
        let sealed = text.lines().filter_map(|line| line.rsplit_once('\t'));
        Ok(sealed
            .filter(|(line, mac)| u64::from_str_radix(mac, 16) == Ok(seal.of(line.as_bytes())))
            .map(|(line, _)| line.to_owned())
            .collect())
    }

    /// Whether there is such a note.
    pub fn has_note(&self, name: &str) -> Result<bool, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(false) };
        let Some(hooks) = room.layout.local.open_dir(HOOKS)? else { return Ok(false) };
        Ok(hooks.stat(&file_of(name))?.is_some())
    }

    /// The claims that agents made on files, as they stand on disk.
    pub fn claims_file(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(None) };
        room.layout.local.open(CLAIMS)?.map(|handle| handle.read_all(MOST_BYTES)).transpose()
    }

    /// What tells whether decisions or knowledge may have changed, without looking
    /// into them: the folder's own state, and the file's. None where there are none.
    pub fn binding_state(&self) -> Result<Option<BindingState>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(None) };
        let decisions = room.layout.top.stat(DECISIONS)?.map(|(_, print)| print.mtime_ns).unwrap_or_default();
        Ok(Some(BindingState { decisions, knowledge: format!("{:032x}", self.knowledge()?.digest()) }))
    }

    /// Clears the oldest notes away where there are too many.
    pub fn clear_notes(&self) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        let Some(hooks) = room.layout.local.open_dir(HOOKS)? else { return Ok(()) };
        // What all sessions share is not a session's to age.
        let mut names = hooks.list()?;
        names.retain(|name| !SHARED.iter().any(|shared| name.starts_with(shared)));
        if names.len() <= MOST_NOTES {
            return Ok(());
        }
        let mut aged = Vec::with_capacity(names.len());
        for name in names {
            let written = hooks.stat(&name)?.map(|(_, print)| print.mtime_ns).unwrap_or_default();
            aged.push((written, name));
        }
        aged.sort();
        let most = aged.len().saturating_sub(MOST_NOTES / 2);
        aged.into_iter().take(most).try_for_each(|(_, name)| hooks.remove(&name).map(drop))
    }

    /// Takes a note away.
    pub fn drop_note(&self, name: &str) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        let Some(hooks) = room.layout.local.open_dir(HOOKS)? else { return Ok(()) };
        hooks.remove(&file_of(name)).map(drop)
    }
}

/// A session's name is a host's word, and no path.
fn file_of(name: &str) -> String {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(80).collect();
    format!("note-{plain}.json")
}
