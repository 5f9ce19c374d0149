//! A source file: its definitions, what it imports, and the names that occur in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tree_sitter::{ParseOptions, Parser, Tree};

use crate::definition::Definition;
use crate::grammar::Grammar;
use crate::language::Language;
use crate::lexer::{LexRules, LexemeKind, TokenStream};
use crate::sketch::{Sketcher, TokenSpan};
use crate::walk::{Outlines, outlines};

/// Bytes of a file that is parsed.
pub const LARGEST_FILE: usize = 1 << 20;

/// Characters of a line; a file with a longer one was not written by hand.
pub const LONGEST_LINE: usize = 2_000;

/// Steps of the parser, in hundreds: as many as a file of [`LARGEST_FILE`] takes, in about 200 ms.
/// They are counted and not timed, so that a file is read the same way on every machine.
const MOST_STEPS: u32 = 10_000;

/// Time of the processor after which parsing ends, whatever its steps: on text that is no
/// source of its language a step takes twenty times as long.
const LONGEST_PARSE: Duration = Duration::from_millis(500);

/// Folders whose files others wrote.
const VENDORED: [&str; 2] = ["vendor", "node_modules"];

/// What was read of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The language of its grammar, if there is one.
    pub language: Option<Language>,
    /// It was read as a whole: there is no grammar for it, it is too large, too slow, not UTF-8,
    /// vendored or not written by hand.
    pub coarse: bool,
    /// The grammar finds errors in it: of what is around them, it may tell no definitions.
    pub has_errors: bool,
    /// The file as one definition.
    pub whole: Definition,
    /// Its definitions in order; for a coarse file the whole.
    pub definitions: Vec<Definition>,
    /// The modules and files that it names.
    pub imports: Vec<String>,
    /// The identifiers that occur in it, and how often; empty for a file that is too large, not
    /// UTF-8, vendored or not written by hand.
    pub names: BTreeMap<String, u32>,
}

impl SourceFile {
    /// The definition at a place in this file.
    #[must_use]
    pub fn definition(&self, name: &str, nth: u32) -> Option<&Definition> {
        self.definitions.iter().find(|found| found.nth == nth && found.name == name)
    }

    /// The innermost definition around a line.
    #[must_use]
    pub fn definition_at(&self, line: u32) -> Option<&Definition> {
        let around = self
            .definitions
            .iter()
            .filter(|found| found.first_line <= line && line <= found.last_line);
        around.min_by_key(|found| found.last_line - found.first_line)
    }
}

/// Reads a file; `path` tells its language.
#[must_use]
pub fn read_source(path: &str, bytes: &[u8]) -> SourceFile {
    let language = Language::of_path(path);
    if is_foreign(path, bytes) {
        return read_coarse(path, bytes);
    }
    let grammar = language.map(Grammar::of);
    let mut has_errors = false;
    let found = grammar.and_then(|grammar| {
        let tree = parse(grammar, bytes)?;
        has_errors = tree.root_node().has_error();
        outlines(&tree, bytes, grammar)
    });
    let coarse = found.is_none();
    let Outlines { definitions, imports } = found.unwrap_or_default();
    let mut boundaries: Vec<u32> =
        definitions.iter().flat_map(|found| [found.bytes.start, found.bytes.end]).collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    let tokens = TokenStream::read(bytes, LexRules::of_path(path), &boundaries);
    let spans: Vec<TokenSpan> = definitions.iter().map(|found| found.span(&tokens)).collect();
    let (sketches, sketch) = Sketcher::sketches(&tokens.hashes(), &spans);
    let whole = Definition::of_file(&tokens, last_line(bytes), sketch);
    let mut count: HashMap<String, u32> = HashMap::new();
    let measured = definitions.into_iter().zip(spans).zip(sketches);
    let definitions = measured.map(|((found, span), sketch)| {
        let nth = count.entry(found.name.clone()).or_default();
        *nth += 1;
        Definition::of_outline(found, *nth, span, &tokens, sketch)
    });
    let definitions = if coarse { vec![whole.clone()] } else { definitions.collect() };
    let names = names(&tokens);
    SourceFile { language, coarse, has_errors, definitions, imports, names, whole }
}

/// Reads a file as a whole, whatever its language.
fn read_coarse(path: &str, bytes: &[u8]) -> SourceFile {
    let tokens = TokenStream::read(bytes, LexRules::of_path(path), &[]);
    let (_, sketch) = Sketcher::sketches(&tokens.hashes(), &[]);
    let whole = Definition::of_file(&tokens, last_line(bytes), sketch);
    SourceFile {
        language: Language::of_path(path),
        coarse: true,
        has_errors: false,
        definitions: vec![whole.clone()],
        imports: Vec::new(),
        names: BTreeMap::new(),
        whole,
    }
}

/// Whether nobody here wrote the file by hand, or it cannot be parsed.
fn is_foreign(path: &str, bytes: &[u8]) -> bool {
    path.split('/').rev().skip(1).any(|folder| VENDORED.contains(&folder))
        || bytes.len() > LARGEST_FILE
        || has_long_line(bytes)
        || std::str::from_utf8(bytes).is_err()
}

fn has_long_line(bytes: &[u8]) -> bool {
    let mut begin = 0;
    memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]).any(|end| {
        let line = bytes.get(begin..end).unwrap_or_default();
        begin = end + 1;
        // Continuation bytes of UTF-8 are no characters of their own.
        line.len() > LONGEST_LINE
            && line.iter().filter(|byte| (**byte & 0xc0) != 0x80).count() > LONGEST_LINE
    })
}

fn parse(grammar: &Grammar, bytes: &[u8]) -> Option<Tree> {
    thread_local! {
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&grammar.syntax).ok()?;
        let (mut steps, began) = (0_u32, processor_time());
        let mut is_over = |_: &tree_sitter::ParseState| {
            steps += 1;
            steps > MOST_STEPS || processor_time().saturating_sub(began) > LONGEST_PARSE
        };
        let options = ParseOptions::new().progress_callback(&mut is_over);
        let mut rest_at = |at: usize, _| bytes.get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut rest_at, None, Some(options));
        if tree.is_none() {
            // Otherwise the next file would go on where this one was left.
            parser.reset();
        }
        tree
    })
}

/// The time that this thread has used; not that of the clock, which runs on while others use the
/// processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn names(tokens: &TokenStream) -> BTreeMap<String, u32> {
    let mut counts: HashMap<u64, (&[u8], u32)> = HashMap::new();
    for (kind, _, hash, text) in tokens.iter() {
        if kind == LexemeKind::Word {
            counts.entry(hash).or_insert((text, 0)).1 += 1;
        }
    }
    let named = counts.into_values().filter_map(|(text, count)| {
        std::str::from_utf8(text).ok().map(|name| (name.to_owned(), count))
    });
    named.collect()
}

fn last_line(bytes: &[u8]) -> u32 {
    let ends = memchr::memchr_iter(b'\n', bytes).count();
    let unfinished = usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n"));
    u32::try_from(ends + unfinished).unwrap_or(u32::MAX).max(1)
}
