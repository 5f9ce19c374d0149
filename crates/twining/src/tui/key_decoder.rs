//! Keys from the bytes of a terminal.
//!
//! Read here and not by a library: the descriptor is polled together with signals and changes of
//! the memory, in one thread that sleeps until one of them comes.

/// A key that was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// Text put in by the terminal in one go.
    Paste(String),
}

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";
/// Longest text that is pasted.
const PASTE_BYTES: usize = 64 * 1024;

/// Bytes in, keys out; what is not a whole key yet waits for the rest.
#[derive(Debug, Default)]
pub(crate) struct KeyDecoder {
    pending: Vec<u8>,
    /// What was pasted so far.
    paste: Option<Vec<u8>>,
}

/// What the pending bytes begin with.
enum Decoded {
    /// A key of so many bytes.
    Key(Key, usize),
    /// So many bytes that are no key we know.
    Skip(usize),
    /// The beginning of a paste.
    PasteStart(usize),
    /// Not all of it.
    Partial,
}

impl KeyDecoder {
    /// Takes bytes, and returns the keys that are whole.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            if let Some(pasted) = &mut self.paste {
                let end = find(&self.pending, PASTE_END);
                // The end may be torn between two reads.
                let upto = end.unwrap_or(self.pending.len().saturating_sub(PASTE_END.len()));
                pasted.extend(self.pending.drain(..upto));
                pasted.truncate(PASTE_BYTES);
                if end.is_none() {
                    return keys;
                }
                self.pending.drain(..PASTE_END.len());
                let text = String::from_utf8_lossy(pasted).into_owned();
                self.paste = None;
                keys.push(Key::Paste(text));
                continue;
            }
            match decode(&self.pending) {
                Decoded::Key(key, length) => {
                    self.pending.drain(..length);
                    keys.push(key);
                }
                Decoded::Skip(length) => drop(self.pending.drain(..length)),
                Decoded::PasteStart(length) => {
                    self.pending.drain(..length);
                    self.paste = Some(Vec::new());
                }
                Decoded::Partial => return keys,
            }
        }
    }

    /// Whether the rest of a key is awaited; if none comes soon, it was the escape key.
    pub(crate) fn awaits_more(&self) -> bool {
        !self.pending.is_empty() && self.paste.is_none()
    }

    /// Gives up waiting for the rest.
    pub(crate) fn flush(&mut self) -> Option<Key> {
        let pending = std::mem::take(&mut self.pending);
        (pending.first() == Some(&ESC)).then_some(Key::Esc)
    }
}

fn decode(bytes: &[u8]) -> Decoded {
    let Some(first) = bytes.first() else { return Decoded::Partial };
    match first {
        b'\r' | b'\n' => Decoded::Key(Key::Enter, 1),
        b'\t' => Decoded::Key(Key::Tab, 1),
        0x7f | 0x08 => Decoded::Key(Key::Backspace, 1),
        &ESC => decode_escape(bytes),
        0x01..=0x1a => Decoded::Key(Key::Ctrl(char::from(b'a' + first - 1)), 1),
        0x00..=0x1f => Decoded::Skip(1),
        _ => decode_char(bytes),
    }
}

fn decode_char(bytes: &[u8]) -> Decoded {
    let length = match bytes[0] {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Decoded::Skip(1),
    };
    let Some(encoded) = bytes.get(..length) else { return Decoded::Partial };
    match std::str::from_utf8(encoded).ok().and_then(|text| text.chars().next()) {
        Some(c) => Decoded::Key(Key::Char(c), length),
        None => Decoded::Skip(1),
    }
}

fn decode_escape(bytes: &[u8]) -> Decoded {
    match bytes.get(1) {
        None => Decoded::Partial,
        Some(b'O') => match bytes.get(2) {
            None => Decoded::Partial,
            Some(letter) => named(*letter).map_or(Decoded::Skip(3), |key| Decoded::Key(key, 3)),
        },
        Some(b'[') => {
            let Some(end) = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                // Longer than any: no key.
                return if bytes.len() > 32 {
                    Decoded::Skip(bytes.len())
                } else {
                    Decoded::Partial
                };
            };
            let (parameters, letter, length) = (&bytes[2..2 + end], bytes[2 + end], end + 3);
            let number = parameters.split(|byte| *byte == b';').next().unwrap_or_default();
            let key = match (letter, number) {
                (b'~', b"200") => return Decoded::PasteStart(length),
                (b'~', b"1" | b"7") => Some(Key::Home),
                (b'~', b"4" | b"8") => Some(Key::End),
                (b'~', b"5") => Some(Key::PageUp),
                (b'~', b"6") => Some(Key::PageDown),
                _ => named(letter),
            };
            key.map_or(Decoded::Skip(length), |key| Decoded::Key(key, length))
        }
        // The escape key, and a key after it in the same breath.
        Some(_) => Decoded::Key(Key::Esc, 1),
    }
}

fn named(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'Z' => Key::BackTab,
        _ => return None,
    })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use crate::tui::key_decoder::*;
    use twining_testcases::each;

    #[test]
    fn keys_are_known_by_their_bytes() {
        each(
            [
                (&b"j"[..], Key::Char('j')),
                ("ü".as_bytes(), Key::Char('ü')),
                (b"\r", Key::Enter),
                (b"\x7f", Key::Backspace),
                (b"\x03", Key::Ctrl('c')),
                (b"\x1a", Key::Ctrl('z')),
                (b"\x1b[A", Key::Up),
                (b"\x1bOB", Key::Down),
                (b"\x1b[1;5C", Key::Right),
                (b"\x1b[H", Key::Home),
                (b"\x1b[4~", Key::End),
                (b"\x1b[6~", Key::PageDown),
                (b"\x1b[Z", Key::BackTab),
            ],
            |(bytes, key)| assert_eq!(KeyDecoder::default().push(bytes), [key]),
        );
    }

    #[test]
    fn a_key_torn_between_two_reads_is_one_key() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.push(b"\x1b["), []);
        assert!(decoder.awaits_more());
        assert_eq!(decoder.push(b"5~k"), [Key::PageUp, Key::Char('k')]);
        assert_eq!(decoder.push(&"é".as_bytes()[..1]), []);
        assert_eq!(decoder.push(&"é".as_bytes()[1..]), [Key::Char('é')]);
    }

    #[test]
    fn an_escape_alone_is_the_escape_key_once_nothing_follows() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert_eq!(decoder.flush(), Some(Key::Esc));
        assert!(!decoder.awaits_more());
        assert_eq!(decoder.push(b"\x1bj"), [Key::Esc, Key::Char('j')]);
    }

    #[test]
    fn pasted_keys_are_text() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.push(b"\x1b[200~q\x1b[A sessions\x1b[20"), []);
        assert_eq!(
            decoder.push(b"1~j"),
            [Key::Paste("q\u{1b}[A sessions".to_owned()), Key::Char('j')]
        );
    }

    #[test]
    fn bytes_that_are_no_key_are_passed_over() {
        assert_eq!(KeyDecoder::default().push(b"\xff\x1b[?1;2c\x1b[15~j"), [Key::Char('j')]);
    }
}
