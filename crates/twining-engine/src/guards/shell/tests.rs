use super::*;

fn written(line: &str) -> Vec<String> {
    let effects = effects(line).expect("reads");
    let mut written: Vec<String> = effects
        .writes
        .iter()
        .filter(|write| write.certainty > Certainty::Possible && !matches!(write.target, Target::Unsaved(..) | Target::Patch(_)))
        .map(|write| match &write.target {
            Target::Path(word) | Target::Tree(word) => match word.known() {
                Some(known) => known,
                None => format!("{}?{}", word.gist(), word.sources().collect::<Vec<_>>().join("|")),
            },
            Target::Code(code) => format!("code:{}", code.len()),
            Target::Unsaved(..) | Target::Patch(_) => String::new(),
        })
        .collect();
    written.dedup();
    written
}

#[test]
fn redirections_are_seen_wherever_they_stand() {
    assert_eq!(written("echo a > x"), ["x"]);
    assert_eq!(written("echo a >> 'x y'"), ["x y"]);
    assert_eq!(written("echo a &> x"), ["x"]);
    assert_eq!(written("echo a >| x"), ["x"]);
    assert_eq!(written("{ echo a; } > x"), ["x"]);
    assert_eq!(written("(cd d && echo a > x)"), ["x"]);
    assert_eq!(written("if true; then echo > x; fi"), ["x"]);
    assert_eq!(written("> x"), ["x"]);
    assert_eq!(written("f() { echo > x; }; f"), ["x"]);
    assert_eq!(written("echo $(echo b > x)"), ["x"]);
    assert_eq!(written("cargo test 2>&1 | tail -5"), Vec::<String>::new());
}

#[test]
fn quoting_and_variables_are_put_together() {
    assert_eq!(written("echo > fea\"ture\"-'list'.json"), ["feature-list.json"]);
    assert_eq!(written("F=feature-list.json; echo > $F"), ["feature-list.json"]);
    assert_eq!(written("D=a; F=$D/b; echo > \"${F}\""), ["a/b"]);
    assert_eq!(written("echo > fea\\ture"), ["feature"]);
    assert_eq!(written("echo > $'fe\\x61ture'"), ["feature"]);
    assert_eq!(written("for f in a b; do echo > $f; done"), ["?a|b"]);
    assert_eq!(written("F=$(ls a/b); echo > $F"), ["?ls|a/b"]);
}

#[test]
fn programs_that_write_are_known() {
    assert_eq!(written("echo a | tee -a x y"), ["x", "y"]);
    assert_eq!(written("sed -i 's/a/b/' x"), ["x"]);
    assert_eq!(written("sed -i.bak -e 's/a/b/' x"), ["x"]);
    assert_eq!(written("sed 's/a/b/' x"), Vec::<String>::new());
    assert_eq!(written("sudo env A=1 tee x"), ["x"]);
    assert_eq!(written("cp a b"), ["b/a", "b"]);
    assert_eq!(written("mv a b"), ["b/a", "a", "b"]);
    assert_eq!(written("rm -rf a"), ["a"]);
    assert_eq!(written("dd if=a of=b"), ["b"]);
    assert_eq!(written("git checkout HEAD~1 -- a/b"), ["HEAD~1", "a/b"]);
    assert_eq!(written("jq '.a' x > y"), ["y"]);
    assert_eq!(written("curl -o x http://h"), ["x"]);
}

#[test]
fn lines_in_lines_are_read() {
    assert_eq!(written("bash -c 'echo > x'"), ["x"]);
    assert_eq!(written("bash -lc \"sh -c 'echo > x'\""), ["x"]);
    assert_eq!(written("eval 'echo > x'"), ["x"]);
    assert_eq!(written("bash <<'EOF'\necho > x\nEOF"), ["x"]);
    assert_eq!(written("echo 'echo > x' | sh"), ["code:22", "x"]);
    assert_eq!(written("find . -name x -exec sed -i s/a/b/ {} \\;"), ["?.|.|-name|-name|x|x"]);
    assert_eq!(written("python3 -c \"open('x','w')\"").len(), 1);
    assert_eq!(written("python3 -c \"print(open('x').read())\"").len(), 0);
}

#[test]
fn a_document_that_is_written_whole_is_kept() {
    let effects = effects("cat > x <<'EOF'\n{\"a\": 1}\nEOF\n").expect("reads");
    assert_eq!(effects.writes.len(), 1);
    assert_eq!(effects.writes[0].content.as_deref(), Some("{\"a\": 1}\n"));
}

#[test]
fn hostile_lines_end() {
    let started = std::time::Instant::now();
    let hostile = [
        "(".repeat(10_000),
        "$(".repeat(10_000),
        "a".repeat(1 << 20),
        "`".repeat(100_000),
        "<<A ".repeat(5_000),
        "'\"".repeat(40_000),
        "a|".repeat(60_000),
        "\u{0}\u{1}".repeat(1000),
        "case ".repeat(10_000),
        "${".repeat(150),
        "bash -c ".repeat(1000),
        "a=$a".repeat(1000),
    ];
    for line in &hostile {
        // An answer or a refusal; never a hang, and never all of the memory.
        let _ = effects(line);
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}
