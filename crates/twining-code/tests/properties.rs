//! What holds for any bytes: nothing panics, and what is found is inside the file.

use proptest::prelude::*;
use twining_code::{Excerpt, likeness, read_source};

const PATHS: [&str; 13] = [
    "a.rs", "a.py", "a.go", "a.java", "a.ts", "a.tsx", "a.c", "a.cpp", "a.cs", "a.rb", "a.php",
    "a.sql", "a.txt",
];

/// Pieces that mean something in one language or another.
const PIECES: &[&str] = &[
    "fn ",
    "def ",
    "class ",
    "func ",
    "function ",
    "struct ",
    "enum ",
    "impl ",
    "trait ",
    "module ",
    "namespace ",
    "interface ",
    "type ",
    "const ",
    "let ",
    "var ",
    "static ",
    "export ",
    "import ",
    "use ",
    "return ",
    "if ",
    "for ",
    "end\n",
    "begin\n",
    "<?php ",
    "#include ",
    "#define ",
    "@a\n",
    "#[a]",
    "=> ",
    "-> ",
    ":: ",
    "a",
    "b",
    "Foo",
    "self",
    "1",
    "0x1f",
    "1.5",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    ".",
    "=",
    "\"",
    "'",
    "`",
    "\"\"\"",
    "'''",
    "${",
    "#{",
    "//",
    "/*",
    "*/",
    "#",
    "--",
    "=begin\n",
    "=end\n",
    "<<~A\n",
    "<<<A\n",
    "A\n",
    "r#\"",
    "\"#",
    "R\"x(",
    ")x\"",
    "@\"",
    "$@\"",
    "\\",
    "\n",
    "\n    ",
    "\t",
    " ",
    "/",
    "é",
    "\u{0}",
    "~",
    "*",
    "&",
];

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read(path in prop::sample::select(&PATHS[..]), source in soup()) {
        let file = read_source(path, &source);
        let lines = file.whole.last_line;
        let mut places: Vec<String> = Vec::new();
        for found in &file.definitions {
            prop_assert!(1 <= found.first_line && found.first_line <= found.last_line);
            prop_assert!(found.last_line <= lines);
            prop_assert!(found.tokens <= file.whole.tokens);
            prop_assert!(likeness(&found.sketch, &found.sketch) > 0.99);
            places.push(found.place());
        }
        places.sort();
        places.dedup();
        prop_assert_eq!(places.len(), file.definitions.len(), "places are unique");
        prop_assert_eq!(&file, &read_source(path, &source), "and the same each time");
        let excerpt = Excerpt::read(path, &source, &(1..=lines));
        prop_assert!(excerpt.lines.len() <= lines as usize);
    }

    #[test]
    fn white_space_around_signs_changes_no_hash(source in "[a-z(){};,=+ ]{0,80}") {
        let spaced: String = source.chars().map(|c| match c {
            ' ' => "\n ".to_owned(),
            c if c.is_alphabetic() => c.to_string(),
            sign => format!(" {sign}\t"),
        }).collect();
        for path in ["a.c", "a.go", "A.java", "a.txt"] {
            let (one, other) = (read_source(path, source.as_bytes()), read_source(path, spaced.as_bytes()));
            prop_assert_eq!(one.whole.body, other.whole.body, "{}", path);
        }
    }
}
