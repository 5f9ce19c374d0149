//! A block of ours in somebody's text file: put between markers, found by them,
//! taken out again. Everything around it stays as it is.

/// How a file writes comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkerStyle {
    /// `<!-- … -->`.
    Markdown,
    /// `# …`.
    Hash,
}

impl MarkerStyle {
    fn begin(self) -> &'static str {
        match self {
            Self::Markdown => {
                "<!-- twining:begin (written by `twining init`; `twining uninstall` removes it) -->"
            }
            Self::Hash => {
                "# >>> twining >>> written by `twining init`; `twining uninstall` removes it"
            }
        }
    }

    fn end(self) -> &'static str {
        match self {
            Self::Markdown => "<!-- twining:end -->",
            Self::Hash => "# <<< twining <<<",
        }
    }

    /// How the first marker begins, whatever it says after that.
    fn start(self) -> &'static str {
        match self {
            Self::Markdown => "<!-- twining:begin",
            Self::Hash => "# >>> twining >>>",
        }
    }
}

/// A begin without an end, or the other way round: nobody knows what is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("contains only one of the two markers of a twining block")]
pub(super) struct UnmatchedMarker;

/// Where in a file a new block goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPosition {
    /// Behind everything, after an empty line.
    Last,
    /// Right below the line that names the interpreter; where none does, first.
    Second,
}

/// The text with the block in it, exactly once.
pub(super) fn put(
    text: &str,
    marks: MarkerStyle,
    spot: BlockPosition,
    body: &str,
) -> Result<String, UnmatchedMarker> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let block =
        format!("{}\n{}\n{}\n", marks.begin(), body.trim_end(), marks.end()).replace('\n', newline);
    if let Some((from, to)) = find(text, marks)? {
        // The last line of a file may lack its newline.
        let block = if text[from..to].ends_with('\n') { block.as_str() } else { block.trim_end() };
        return Ok(format!("{}{block}{}", &text[..from], &text[to..]));
    }
    Ok(match spot {
        _ if text.is_empty() => block,
        BlockPosition::Last => {
            let gap = if text.ends_with('\n') { newline.to_owned() } else { newline.repeat(2) };
            format!("{text}{gap}{block}")
        }
        BlockPosition::Second => {
            // Without a shebang line, nothing precedes our block.
            let named = text.starts_with("#!");
            let first = if named { text.find('\n').map_or(text.len(), |end| end + 1) } else { 0 };
            let gap = if !named || text[..first].ends_with('\n') { "" } else { newline };
            format!("{}{gap}{block}{}", &text[..first], &text[first..])
        }
    })
}

/// The text without the block; nothing if that leaves nothing.
pub(super) fn take(text: &str, marks: MarkerStyle) -> Result<Option<String>, UnmatchedMarker> {
    let Some((from, to)) = find(text, marks)? else { return Ok(Some(text.to_owned())) };
    let (before, after) = (&text[..from], &text[to..]);
    // Our empty line in front goes too, unless it alone separates the text before and after.
    let goes = after.trim().is_empty() || after.starts_with(['\n', '\r']);
    let before = if goes { without_gap(before) } else { before };
    let rest = format!("{before}{after}");
    Ok((!rest.trim().is_empty()).then_some(rest))
}

/// The same if the number of bytes inserted before the block is known: they are removed whatever
/// follows it, as far as they still exist.
pub(super) fn take_with_gap(
    text: &str,
    marks: MarkerStyle,
    put_in: usize,
) -> Result<Option<String>, UnmatchedMarker> {
    let Some((from, to)) = find(text, marks)? else { return Ok(Some(text.to_owned())) };
    let (before, after) = (&text[..from], &text[to..]);
    let gap = put_in.saturating_sub(to - from);
    if gap == 0 || gap > 4 {
        return take(text, marks);
    }
    let newline = if text.contains("\r\n") { 2 } else { 1 };
    let ended_so = gap == 2 * newline && after.is_empty() && before.ends_with('\n');
    let kept = without_gap(before);
    let kept = if ended_so {
        kept.strip_suffix('\n').map_or(kept, |text| text.strip_suffix('\r').unwrap_or(text))
    } else {
        kept
    };
    let rest = format!("{kept}{after}");
    Ok((!rest.trim().is_empty()).then_some(rest))
}

/// The same in a file in which nobody else leaves empty lines: the one in front is ours.
pub(super) fn take_with_line(
    text: &str,
    marks: MarkerStyle,
) -> Result<Option<String>, UnmatchedMarker> {
    let length = find(text, marks)?.map_or(0, |(from, to)| to - from);
    take_with_gap(text, marks, length + 1)
}

/// The text without the empty line at its end.
fn without_gap(text: &str) -> &str {
    let shorter = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
    shorter.filter(|shorter| shorter.ends_with('\n')).unwrap_or(text)
}

/// The text without what is left of our markers where one of them is gone, and
/// without the lines between that are known to be ours; a whole block stays.
pub(super) fn without_unmatched_markers(
    text: &str,
    marks: MarkerStyle,
    is_ours: impl Fn(&str) -> bool,
) -> String {
    if find(text, marks).is_ok() {
        return text.to_owned();
    }
    let is_marker = |line: &str| line.starts_with(marks.start()) || line == marks.end();
    text.split_inclusive('\n')
        .filter(|line| !is_marker(line.trim_end()) && !is_ours(line.trim_end()))
        .collect()
}

/// The text before the block, the block, and the text after.
pub(super) fn around(text: &str, marks: MarkerStyle) -> Option<(&str, &str, &str)> {
    let (from, to) = find(text, marks).ok().flatten()?;
    Some((&text[..from], &text[from..to], &text[to..]))
}

/// Whether any marker of ours is there, with the other or without.
pub(super) fn has_marker(text: &str) -> bool {
    let is_one =
        |line: &str, marks: MarkerStyle| line.starts_with(marks.start()) || line == marks.end();
    text.lines().any(|line| {
        [MarkerStyle::Markdown, MarkerStyle::Hash]
            .into_iter()
            .any(|marks| is_one(line.trim_end(), marks))
    })
}

/// Whether there is a block.
pub(super) fn is_there(text: &str, marks: MarkerStyle) -> bool {
    matches!(find(text, marks), Ok(Some(_)))
}

/// Where the block is, with its line end.
fn find(text: &str, marks: MarkerStyle) -> Result<Option<(usize, usize)>, UnmatchedMarker> {
    let mut from = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_end();
        if trimmed.starts_with(marks.start()) {
            if from.is_some() {
                return Err(UnmatchedMarker);
            }
            from = Some(at);
        } else if trimmed == marks.end() {
            return from.map(|from| Some((from, at + line.len()))).ok_or(UnmatchedMarker);
        }
        at += line.len();
    }
    if from.is_some() { Err(UnmatchedMarker) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use crate::init::marked_block::*;
    use twining_testcases::each;

    #[test]
    fn what_was_put_is_taken_out_again_to_the_byte() {
        each(
            [
                (MarkerStyle::Markdown, BlockPosition::Last, "# Rules\n\nBe kind.\n"),
                (MarkerStyle::Markdown, BlockPosition::Last, "# Rules\r\n\r\nBe kind.\r\n"),
                (MarkerStyle::Hash, BlockPosition::Second, "#!/bin/sh\nset -e\nmake test\n"),
                (MarkerStyle::Hash, BlockPosition::Last, "[core]\n\tbare = false\n"),
            ],
            |(marks, spot, text)| {
                let with = put(text, marks, spot, "one\ntwo").expect("is whole");
                assert_ne!(with, text);
                assert_eq!(
                    put(&with, marks, spot, "one\ntwo").expect("is whole"),
                    with,
                    "twice is once"
                );
                assert_eq!(take(&with, marks).expect("is whole").as_deref(), Some(text));
            },
        );
    }

    #[test]
    fn the_empty_line_that_was_ours_goes_whatever_was_written_around() {
        let own = "# Rules\n\nBe kind.\n";
        let with =
            put(own, MarkerStyle::Markdown, BlockPosition::Last, "one\ntwo").expect("is whole");
        let put_in = with.len() - own.len();
        let taken = |text: &str| {
            take_with_gap(text, MarkerStyle::Markdown, put_in)
                .expect("is whole")
                .expect("something is left")
        };
        each(["", "More.\n", "\nMore.\n", "\n\n"], |more| {
            assert_eq!(taken(&format!("{with}{more}")), format!("{own}{more}"));
            assert_eq!(taken(&format!("Before.\n{with}{more}")), format!("Before.\n{own}{more}"));
        });
        let (_, block) = with.split_at(own.len() + 1);
        assert_eq!(
            taken(&format!("{own}{block}More.\n")),
            format!("{own}More.\n"),
            "theirs is no gap"
        );
        let unended =
            put("A", MarkerStyle::Markdown, BlockPosition::Last, "one").expect("is whole");
        let taken_from = |text: &str| {
            take_with_gap(text, MarkerStyle::Markdown, unended.len() - 1).expect("is whole")
        };
        assert_eq!(
            taken_from(&format!("B{unended}")).as_deref(),
            Some("BA"),
            "a line without an end stays so"
        );
        assert_eq!(taken_from(&format!("{unended}B\n")).as_deref(), Some("A\nB\n"));
        assert_eq!(taken(&format!("{block}{own}")), own, "moved to the top");
        // Where nobody knows, one empty line stays between two texts.
        assert_eq!(
            take(&format!("{with}\nMore.\n"), MarkerStyle::Markdown).expect("is whole").as_deref(),
            Some("# Rules\n\nBe kind.\n\nMore.\n")
        );
        assert_eq!(
            take(&format!("{with}More.\n"), MarkerStyle::Markdown).expect("is whole").as_deref(),
            Some("# Rules\n\nBe kind.\n\nMore.\n")
        );
    }

    #[test]
    fn a_new_text_takes_the_place_of_the_old_one() {
        let with = put("# Rules\n", MarkerStyle::Markdown, BlockPosition::Last, "old")
            .expect("is whole")
            + "more\n";
        let renewed =
            put(&with, MarkerStyle::Markdown, BlockPosition::Last, "new").expect("is whole");
        assert!(
            renewed.contains("\nnew\n") && !renewed.contains("old") && renewed.ends_with("more\n"),
            "{renewed}"
        );
    }

    #[test]
    fn a_file_of_nothing_but_the_block_goes() {
        let with = put("", MarkerStyle::Markdown, BlockPosition::Last, "body").expect("is whole");
        assert_eq!(take(&with, MarkerStyle::Markdown), Ok(None));
    }

    #[test]
    fn half_a_block_goes_where_its_lines_are_known() {
        let unmatched = "theirs\n# >>> twining >>> x\nours\nmine\n";
        assert_eq!(
            without_unmatched_markers(unmatched, MarkerStyle::Hash, |line| line == "ours"),
            "theirs\nmine\n"
        );
        let whole =
            put("theirs\n", MarkerStyle::Hash, BlockPosition::Last, "ours").expect("is whole");
        assert_eq!(
            without_unmatched_markers(&whole, MarkerStyle::Hash, |line| line == "ours"),
            whole
        );
    }

    #[test]
    fn half_a_block_is_refused() {
        assert_eq!(
            put("<!-- twining:begin -->\nx\n", MarkerStyle::Markdown, BlockPosition::Last, "y"),
            Err(UnmatchedMarker)
        );
        assert_eq!(take("x\n<!-- twining:end -->\n", MarkerStyle::Markdown), Err(UnmatchedMarker));
    }
}
