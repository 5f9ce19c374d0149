//! Array files: when a reply is sent, they contain what it acknowledges.
//!
//! A short array is replaced as a whole. A long one is edited in place, so that the cost of a write
//! does not grow with its size: a new element overwrites the closing bracket, a changed one
//! overwrites its old line if it fits and otherwise goes to the end, leaving blanks. No byte of
//! another element moves, and a killed writer damages none. Blanks are removed later, when nobody
//! waits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use memchr::{memchr, memchr_iter, memmem};
use serde::Serialize;

use crate::disk::layout::{ARRAY_BYTES, Layout};
use crate::disk::{FileHandle, Fingerprint, hash_of};
use crate::error::StoreError;
use crate::format::array;
use crate::log::store_files::{Array, ArrayState};

/// Arrays up to this size are replaced as a whole: over 20,000 elements. git fails on a file
/// that changes while it is read, and so these never do.
const SHORT_BYTES: u64 = 6 * 1024 * 1024;
/// Elements that one call looks for.
const MAX_LOOKUPS: usize = 64;
/// How every array of ours ends.
const END: &[u8] = b"\n]\n";
/// The part of it that a new element is written over.
const BRACKET: u64 = 2;

/// What is done to one array.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElementEdits {
    /// Elements from now on, by id.
    pub upserts: BTreeMap<String, String>,
    /// Ids of elements that go.
    pub removed: HashSet<String>,
}

impl ElementEdits {
    /// Whether nothing is done.
    pub(crate) fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.removed.is_empty()
    }

    /// Adds elements by id, and ids that go after them.
    pub(crate) fn add<'r, T: Serialize + 'r>(
        &mut self,
        upserts: impl Iterator<Item = (&'r String, &'r T)>,
        removed: &[String],
    ) -> Result<(), StoreError> {
        for (id, element) in upserts {
            self.removed.remove(id);
            self.upserts.insert(id.clone(), serde_json::to_string(element)?);
        }
        for id in removed {
            self.upserts.remove(id);
            self.removed.insert(id.clone());
        }
        Ok(())
    }

    /// How many elements must be found in the file.
    fn lookup_count(&self, new: &HashSet<String>) -> usize {
        self.upserts.keys().filter(|id| !new.contains(*id)).count() + self.removed.len()
    }
}

/// The way back.
#[derive(Debug)]
pub(crate) enum ArrayUndo {
    /// Overwritten bytes, newest first to be restored, and the length.
    Bytes(Array, Vec<(u64, Vec<u8>)>, u64),
    /// All that it held, if it was there.
    Whole(Array, Option<Vec<u8>>),
}

/// An edit to an array, and the array's current state.
pub(crate) struct ArrayEdit<'e> {
    /// The folder.
    pub layout: &'e Layout,
    /// Which array.
    pub array: Array,
    /// What is done.
    pub edits: &'e ElementEdits,
    /// How we left the file.
    pub last_state: Option<ArrayState>,
    /// Ids the array does not contain.
    pub new: &'e HashSet<String>,
}

/// Positions of elements in long arrays, as this process left them.
pub(crate) struct ArrayWriter {
    short_bytes: u64,
    offsets: Mutex<[Option<ElementOffsets>; 3]>,
}

struct ElementOffsets {
    print: Fingerprint,
    /// By the hash of its id, where an element begins.
    at: HashMap<u64, u64>,
}

/// An element's bytes in the file, without the comma in front.
struct ElementLine {
    at: u64,
    bytes: Vec<u8>,
}

/// What one call writes.
#[derive(Default)]
struct ArrayWrites {
    patches: Vec<(u64, Vec<u8>)>,
    appended: Vec<(String, Vec<u8>)>,
    has_gaps: bool,
}

impl Default for ArrayWriter {
    fn default() -> Self {
        Self { short_bytes: SHORT_BYTES, offsets: Mutex::default() }
    }
}

impl ArrayWriter {
    /// Carries an edit out; none if the file cannot be read, and so is left alone.
    pub(crate) fn edit(
        &self,
        edit: &ArrayEdit<'_>,
        undo: &mut Vec<ArrayUndo>,
    ) -> Result<Option<EditedArray>, StoreError> {
        match self.edit_once(edit, undo) {
            // git removes a folder when a switch empties it, also between our opening it and this moment.
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                rewrite(
                    &ArrayEdit { layout: &edit.layout.with_folders_recreated()?, ..*edit },
                    undo,
                )
            }
            other => other,
        }
    }

    fn edit_once(
        &self,
        edit: &ArrayEdit<'_>,
        undo: &mut Vec<ArrayUndo>,
    ) -> Result<Option<EditedArray>, StoreError> {
        // Looking up many ids one by one would take longer than rewriting everything.
        if edit.edits.lookup_count(edit.new) <= MAX_LOOKUPS
            && let Some(last_state) = &edit.last_state
            && let Some(handle) = open_if_unchanged(edit.layout, edit.array, last_state)?
        {
            let is_short = last_state.to.size <= self.short_bytes;
            let edited = if is_short {
                replace(edit, &handle, last_state, undo)?
            } else {
                self.edit_in_place(edit, &handle, last_state, undo)?
            };
            if edited.is_some() {
                return Ok(edited);
            }
        }
        rewrite(edit, undo)
    }

    fn edit_in_place(
        &self,
        edit: &ArrayEdit<'_>,
        handle: &FileHandle,
        last_state: &ArrayState,
        undo: &mut Vec<ArrayUndo>,
    ) -> Result<Option<EditedArray>, StoreError> {
        let size = last_state.to.size;
        let mut offsets = self.offsets.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut offsets[edit.array as usize];
        if known.as_ref().is_some_and(|known| known.print != last_state.to) {
            *known = None;
        }
        let Some(pending_writes) = plan(edit, handle, known)? else { return Ok(None) };
        let mut old = Vec::new();
        let written = write(handle, size, &pending_writes, &mut old);
        undo.push(ArrayUndo::Bytes(edit.array, old, size));
        let appended = written.inspect_err(|_| *known = None)?;
        let print = handle.fingerprint()?;
        if let Some(known) = known {
            known.print = print;
            known.at.extend(appended);
        }
        Ok(Some(EditedArray {
            from: Some(last_state.to),
            to: print,
            has_gaps: last_state.has_gaps || pending_writes.has_gaps,
            is_unchecked: last_state.is_unchecked,
        }))
    }
}

/// How an array was left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditedArray {
    /// What the file was before.
    pub from: Option<Fingerprint>,
    /// What it is now.
    pub to: Fingerprint,
    /// Whether blanks replace removed elements.
    pub has_gaps: bool,
    /// Whether others wrote it, and it is yet to be compared with the records.
    pub is_unchecked: bool,
}

/// The array, if it is as we left it.
fn open_if_unchanged(
    layout: &Layout,
    array: Array,
    last_state: &ArrayState,
) -> Result<Option<FileHandle>, StoreError> {
    let dir = array.dir(layout);
    if dir.print(array.name())? != Some(last_state.to) {
        return Ok(None);
    }
    let handle = dir.create_random_access(array.name())?;
    let (size, mut end) = (last_state.to.size, [0; 3]);
    let is_ours =
        handle.fingerprint()? == last_state.to && handle.links()? == 1 && size >= END.len() as u64;
    let ends_so =
        is_ours && handle.read_at(&mut end, size - END.len() as u64)? == END.len() && end == END;
    Ok(ends_so.then_some(handle))
}

/// Puts a new version in the place of a short array; none if an element cannot be found.
fn replace(
    edit: &ArrayEdit<'_>,
    handle: &FileHandle,
    last_state: &ArrayState,
    undo: &mut Vec<ArrayUndo>,
) -> Result<Option<EditedArray>, StoreError> {
    let old = handle.read_all(ARRAY_BYTES)?;
    let mut bytes = old.clone();
    for (id, text) in &edit.edits.upserts {
        if edit.new.contains(id) {
            let end = bytes.len() - BRACKET as usize;
            let comma = if bytes.len() == array::EMPTY_ARRAY.len() { "" } else { "," };
            bytes.splice(end..end, format!("{comma}{text}\n").into_bytes());
        } else {
            let Some(line) = line_of(&bytes, id) else { return Ok(None) };
            bytes.splice(line, text.bytes());
        }
    }
    for id in &edit.edits.removed {
        let Some(line) = line_of(&bytes, id) else { return Ok(None) };
        let is_first = bytes[line.start - 1] != b',';
        let end = line.end + 1;
        // The next one becomes the first, and loses its comma.
        let end = end + usize::from(is_first && bytes.get(end) == Some(&b','));
        bytes.drain(line.start - usize::from(!is_first)..end);
    }
    let to = replace_if_changed(edit, Some(last_state.to), Some(old), &bytes, undo)?;
    Ok(Some(EditedArray {
        from: Some(last_state.to),
        to,
        has_gaps: false,
        is_unchecked: last_state.is_unchecked,
    }))
}

/// Where the line of an element is, without the comma in front.
fn line_of(bytes: &[u8], id: &str) -> Option<Range<usize>> {
    let start = format!("{{\"id\":\"{id}\"");
    let is_start = |at: &usize| bytes[..*at].ends_with(b"\n") || bytes[..*at].ends_with(b"\n,");
    let at = memmem::find_iter(bytes, start.as_bytes()).find(is_start)?;
    Some(at..at + memchr(b'\n', &bytes[at..])?)
}

/// What to write where; none if an element cannot be found, or the first one must move.
fn plan(
    edit: &ArrayEdit<'_>,
    handle: &FileHandle,
    offsets: &mut Option<ElementOffsets>,
) -> Result<Option<ArrayWrites>, StoreError> {
    let mut pending_writes = ArrayWrites::default();
    for (id, text) in &edit.edits.upserts {
        let mut text = text.clone().into_bytes();
        if edit.new.contains(id) {
            pending_writes.appended.push((id.clone(), text));
            continue;
        }
        let Some(line) = find(handle, id, offsets)? else { return Ok(None) };
        if text == line.bytes.trim_ascii_end() {
            continue;
        }
        pending_writes.has_gaps |= text.len() != line.bytes.len();
        if text.len() <= line.bytes.len() {
            text.resize(line.bytes.len(), b' ');
            pending_writes.patches.push((line.at, text));
        } else {
            let Some(blank) = blanks_for(handle, &line)? else { return Ok(None) };
            pending_writes.patches.push(blank);
            pending_writes.appended.push((id.clone(), text));
        }
    }
    for id in &edit.edits.removed {
        let Some(line) = find(handle, id, offsets)? else { return Ok(None) };
        let Some(blank) = blanks_for(handle, &line)? else { return Ok(None) };
        pending_writes.patches.push(blank);
        pending_writes.has_gaps = true;
    }
    Ok(Some(pending_writes))
}

/// Blanks for an element and its comma; none for the first one, which has no comma.
fn blanks_for(
    handle: &FileHandle,
    line: &ElementLine,
) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
    let mut before = [0];
    let has_comma =
        line.at > 0 && handle.read_at(&mut before, line.at - 1)? == 1 && before == *b",";
    Ok(has_comma.then(|| (line.at - 1, vec![b' '; line.bytes.len() + 1])))
}

/// Finds an element's position by id.
fn find(
    handle: &FileHandle,
    id: &str,
    offsets: &mut Option<ElementOffsets>,
) -> Result<Option<ElementLine>, StoreError> {
    if offsets.is_none() {
        *offsets = Some(ElementOffsets {
            print: handle.fingerprint()?,
            at: starts(&handle.read_all(ARRAY_BYTES)?),
        });
    }
    let at = offsets.as_ref().and_then(|known| known.at.get(&hash_of(id.as_bytes())).copied());
    let Some(at) = at else { return Ok(None) };
    let bytes = read_line(handle, at)?;
    Ok(bytes
        .starts_with(format!("{{\"id\":\"{id}\"").as_bytes())
        .then_some(ElementLine { at, bytes }))
}

/// Where each element begins that has its line for itself.
fn starts(bytes: &[u8]) -> HashMap<u64, u64> {
    let mut at = 0;
    let mut starts = HashMap::new();
    for end in memchr_iter(b'\n', bytes) {
        let line = &bytes[at..end];
        let comma = usize::from(line.starts_with(b","));
        let id = line[comma..]
            .strip_prefix(b"{\"id\":\"")
            .and_then(|rest| rest.get(..memchr(b'"', rest)?));
        if let Some(id) = id {
            starts.insert(hash_of(id), (at + comma) as u64);
        }
        at = end + 1;
    }
    starts
}

fn read_line(handle: &FileHandle, at: u64) -> Result<Vec<u8>, StoreError> {
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let read = handle.read_at(&mut chunk, at + line.len() as u64)?;
        let end = memchr(b'\n', &chunk[..read]);
        line.extend_from_slice(&chunk[..end.unwrap_or(read)]);
        if end.is_some() || read == 0 {
            return Ok(line);
        }
    }
}

/// Writes, and returns where the new elements begin. The end is written first: if killed in
/// between, an element is duplicated, never lost.
fn write(
    handle: &FileHandle,
    size: u64,
    pending_writes: &ArrayWrites,
    old: &mut Vec<(u64, Vec<u8>)>,
) -> Result<Vec<(u64, u64)>, StoreError> {
    let mut starts = Vec::new();
    if !pending_writes.appended.is_empty() {
        let at = size - BRACKET;
        let mut text = Vec::new();
        for (id, element) in &pending_writes.appended {
            // A long array has an element before it.
            text.push(b',');
            starts.push((hash_of(id.as_bytes()), at + text.len() as u64));
            text.extend_from_slice(element);
            text.push(b'\n');
        }
        text.extend_from_slice(b"]\n");
        old.push((at, b"]\n".to_vec()));
        handle.write_at(&text, at)?;
    }
    for (at, bytes) in &pending_writes.patches {
        let mut before = vec![0; bytes.len()];
        handle.read_at(&mut before, *at)?;
        old.push((*at, before));
        handle.write_at(bytes, *at)?;
    }
    Ok(starts)
}

/// Rewrites the array: another program wrote it last, or its layout differs.
fn rewrite(
    edit: &ArrayEdit<'_>,
    undo: &mut Vec<ArrayUndo>,
) -> Result<Option<EditedArray>, StoreError> {
    let (dir, name) = (edit.array.dir(edit.layout), edit.array.name());
    let (from, bytes) = match dir.open(name) {
        Ok(Some(handle)) => (Some(handle.fingerprint()?), Some(handle.read_all(ARRAY_BYTES)?)),
        // No file at all, as on a branch that never had one, is an empty array.
        Ok(None) => (None, None),
        Err(StoreError::Unsafe { .. } | StoreError::Damaged { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let scanned = array::scan(bytes.as_deref().unwrap_or(array::EMPTY_ARRAY));
    if !scanned.unreadable.is_empty() {
        return Ok(None);
    }
    let text = array::splice(&scanned, &edit.edits.upserts, &edit.edits.removed);
    let to = replace_if_changed(edit, from, bytes, text.as_bytes(), undo)?;
    // The list of decisions is derived: one that somebody else wrote may lack more than this.
    Ok(Some(EditedArray {
        from,
        to,
        has_gaps: false,
        is_unchecked: edit.array == Array::DecisionIndex,
    }))
}

/// Puts the new bytes in the place of the old. The same ones are not written again: in the middle
/// of a rebase git would take the file for changed.
fn replace_if_changed(
    edit: &ArrayEdit<'_>,
    from: Option<Fingerprint>,
    old: Option<Vec<u8>>,
    bytes: &[u8],
    undo: &mut Vec<ArrayUndo>,
) -> Result<Fingerprint, StoreError> {
    if let Some(from) = from.filter(|_| old.as_deref() == Some(bytes)) {
        return Ok(from);
    }
    undo.push(ArrayUndo::Whole(edit.array, old));
    edit.layout.replace_keeping_backup(edit.array.dir(edit.layout), edit.array.name(), bytes)
}

/// Takes back what a killed writer, or a power cut, left of its last elements. The
/// journal has them.
pub(crate) fn repair_torn_array(
    layout: &Layout,
    array: Array,
    last_state: &ArrayState,
) -> Result<(), StoreError> {
    let dir = array.dir(layout);
    let Some(print) = dir.print(array.name())? else { return Ok(()) };
    let Some(sound_bytes) = last_state
        .to
        .size
        .checked_sub(BRACKET)
        .filter(|sound_bytes| print.ino == last_state.to.ino && print.size >= *sound_bytes)
    else {
        return Ok(());
    };
    let handle = dir.create_random_access(array.name())?;
    let mut tail = vec![0; usize::try_from(print.size - sound_bytes).unwrap_or(0).min(ARRAY_BYTES)];
    let read = handle.read_at(&mut tail, sound_bytes)?;
    tail.truncate(read);
    let is_torn = (!tail.starts_with(b",") && !tail.starts_with(b"]"))
        || !tail.ends_with(b"]\n")
        || tail.contains(&0);
    if !is_torn {
        return Ok(());
    }
    handle.set_len(sound_bytes)?;
    handle.write_at(b"]\n", sound_bytes)
}

impl ArrayUndo {
    /// Makes the file what it was.
    pub(crate) fn roll_back(&self, layout: &Layout) -> Result<(), StoreError> {
        match self {
            // A folder that takes no writes has taken none.
            Self::Whole(array, old)
                if array.dir(layout).read(array.name(), ARRAY_BYTES)? == *old =>
            {
                Ok(())
            }
            Self::Whole(array, None) => array.dir(layout).remove(array.name()).map(drop),
            Self::Whole(array, Some(bytes)) => {
                layout.replace(array.dir(layout), array.name(), bytes, false)
            }
            Self::Bytes(array, old, size) => {
                let handle = array.dir(layout).create_random_access(array.name())?;
                for (at, bytes) in old.iter().rev() {
                    handle.write_at(bytes, *at)?;
                }
                handle.set_len(*size)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use twining_testcases::each;

    use super::*;
    use crate::log::lock::LockState;

    struct ArrayFixture {
        _dir: tempfile::TempDir,
        layout: Layout,
        files: ArrayWriter,
        state: LockState,
        model: BTreeMap<String, String>,
    }

    impl ArrayFixture {
        /// An array of so many elements, some 300 bytes each.
        fn of(elements: usize) -> Self {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let layout = Layout::make(dir.path(), None).expect("makes the folder");
            let mut fixture = Self {
                _dir: dir,
                layout,
                files: ArrayWriter { short_bytes: 256 * 1024, ..ArrayWriter::default() },
                state: LockState::default(),
                model: BTreeMap::new(),
            };
            let upserts: Vec<(String, usize)> =
                (0..elements).map(|at| (format!("e{at:05}"), 300)).collect();
            fixture.edit(&upserts, &[]);
            fixture
        }

        fn edit(&mut self, upserts: &[(String, usize)], removed: &[String]) {
            let upserts: BTreeMap<String, String> = upserts
                .iter()
                .map(|(id, length)| {
                    (id.clone(), json!({"id": id, "text": "x".repeat(*length)}).to_string())
                })
                .collect();
            let removed: HashSet<String> = removed
                .iter()
                .filter(|id| self.model.contains_key(*id) && !upserts.contains_key(*id))
                .cloned()
                .collect();
            let new = upserts.keys().filter(|id| !self.model.contains_key(*id)).cloned().collect();
            let edits = ElementEdits { upserts: upserts.clone(), removed: removed.clone() };
            let last_state = self.state.arrays[0];
            let edit = ArrayEdit {
                layout: &self.layout,
                array: Array::Entities,
                edits: &edits,
                last_state,
                new: &new,
            };
            let edited = self.files.edit(&edit, &mut Vec::new());
            self.state.set_array_state(
                Array::Entities,
                edited.expect("writes").expect("can be read"),
                1,
            );
            self.model.extend(upserts);
            self.model.retain(|id, _| !removed.contains(id));
        }

        fn bytes(&self) -> Vec<u8> {
            self.layout
                .graph
                .open("entities.json")
                .expect("opens")
                .expect("is there")
                .read_all(ARRAY_BYTES)
                .expect("reads")
        }

        fn assert_right(&self) {
            let bytes = self.bytes();
            let list: Vec<Value> = serde_json::from_slice(&bytes).expect("is a JSON array");
            let found: BTreeMap<String, String> = list
                .iter()
                .map(|element| {
                    (element["id"].as_str().expect("has an id").to_owned(), element.to_string())
                })
                .collect();
            assert_eq!(list.len(), found.len(), "no element stands there twice");
            assert_eq!(found, self.model);
        }
    }

    #[test]
    fn a_long_array_grows_in_place() {
        let mut fixture = ArrayFixture::of(2_000);
        let before = (fixture.state.arrays[0].expect("was left").to.ino, fixture.bytes());
        fixture.edit(&[("f1".to_owned(), 10)], &[]);
        let after = (fixture.state.arrays[0].expect("was left").to.ino, fixture.bytes());
        assert_eq!(before.0, after.0, "it is the same file");
        assert!(after.1.starts_with(&before.1[..before.1.len() - 2]));
        fixture.assert_right();
    }

    #[test]
    fn a_short_array_does_not_change_under_who_reads_it() {
        let mut fixture = ArrayFixture::of(500);
        let before = fixture.bytes();
        let reader = fixture.layout.graph.open("entities.json").expect("opens").expect("is there");
        fixture.edit(&[("f1".to_owned(), 10), ("e00007".to_owned(), 20)], &["e00009".to_owned()]);
        assert!(reader.read_all(ARRAY_BYTES).expect("reads") == before);
        fixture.assert_right();
    }

    #[test]
    fn what_says_so_already_is_not_written_again() {
        let mut fixture = ArrayFixture::of(500);
        let before = fixture.state.arrays[0].expect("was left").to;
        fixture.edit(&[("e00007".to_owned(), 300)], &[]);
        assert_eq!(fixture.state.arrays[0].expect("was left").to, before);
        // Also where others wrote it, and nobody knows how it was left.
        fixture.state.arrays[0] = None;
        fixture.edit(&[("e00007".to_owned(), 300)], &[]);
        assert_eq!(fixture.state.arrays[0].expect("was left").to, before);
    }

    #[test]
    fn what_a_killed_writer_left_of_an_element_is_taken_back() {
        let fixture = ArrayFixture::of(2_000);
        let (last_state, whole) = (fixture.state.arrays[0].expect("was left"), fixture.bytes());
        let handle = fixture.layout.graph.create_random_access("entities.json").expect("opens");
        each([&b",{\"id\":\"f1\",\"te"[..], b",{", b",\0\0\0\0\0\0"], |torn| {
            handle.write_at(torn, whole.len() as u64 - 2).expect("writes");
            repair_torn_array(&fixture.layout, Array::Entities, &last_state).expect("mends");
            assert!(fixture.bytes() == whole, "{torn:?}");
        });
        fixture.assert_right();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn any_edits_leave_an_array_of_what_was_put(
            elements in prop_oneof![Just(0), Just(3), Just(900), Just(4_000)],
            steps in proptest::collection::vec(
                (proptest::collection::vec((0_usize..5_000, 0_usize..700), 0..4), proptest::collection::vec(0_usize..5_000, 0..3), any::<bool>()),
                1..12,
            ),
        ) {
            let mut fixture = ArrayFixture::of(elements);
            for (upserts, removed, is_other_process) in steps {
                // Mostly among the first elements, where the special cases are.
                let name = |at: usize| format!("e{:05}", if at.is_multiple_of(3) { at % 4 } else { at });
                let upserts: Vec<(String, usize)> = upserts.into_iter().map(|(at, length)| (name(at), length)).collect();
                let removed: Vec<String> = removed.into_iter().map(name).collect();
                if is_other_process {
                    fixture.files = ArrayWriter { short_bytes: 256 * 1024, ..ArrayWriter::default() };
                }
                fixture.edit(&upserts, &removed);
                fixture.assert_right();
            }
        }
    }
}
