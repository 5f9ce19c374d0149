//! Changing the attributes in lists that are already written.

use std::collections::{BTreeMap, BTreeSet};

use crate::charset::Charset;
use crate::diagnostics::Span;
use crate::id::DotId;
use crate::lexer::TokenKind;
use crate::syntax::{Assign, AttrList};

use super::apply::Splices;
use super::file_style::{FileStyle, ListStyle, assigns, flat_list};

/// Attributes to set and to take away.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttrChange {
    pub set: BTreeMap<String, DotId>,
    pub unset: BTreeSet<String>,
}

impl AttrChange {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.unset.is_empty()
    }
}

/// Writes the change into lists in place; `behind` is where a first list would go.
pub(crate) fn change_lists(
    lists: &[AttrList],
    behind: usize,
    change: &AttrChange,
    style: &FileStyle<'_>,
    source: &[u8],
    splices: &mut Splices,
) {
    let mut missing: Vec<(String, DotId)> = Vec::new();
    let assigns = || lists.iter().flat_map(|list| &list.assigns);
    for (name, value) in &change.set {
        // The last of a name is the one that holds.
        match assigns().rfind(|assign| assign.name.id.as_str() == name) {
            Some(assign) if assign.value.id == *value => {}
            Some(assign) => {
                let was_quoted = source.get(assign.value.span.start) == Some(&b'"');
                splices.replace(
                    assign.value.span,
                    if was_quoted { value.quoted() } else { value.to_string() },
                );
            }
            None => missing.push((name.clone(), value.clone())),
        }
    }
    let goes = |assign: &Assign| change.unset.contains(assign.name.id.as_str());
    let none_left = assigns().all(goes);
    if let (true, false, Some(first), Some(last)) =
        (none_left, assigns().next().is_none(), lists.first(), lists.last())
    {
        let blanks = source[..first.span.start]
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        splices.replace(Span::new(first.span.start - blanks, last.span.end), flat_list(&missing));
        return;
    }
    for list in lists {
        take_out(list, &goes, style, splices);
    }
    if missing.is_empty() {
        return;
    }
    match lists.last() {
        Some(list) => append(list, &missing, &goes, style, splices),
        None => splices.insert(behind, flat_list(&missing)),
    }
}

/// Renders lists with a change applied, to follow a rewritten statement.
pub(crate) fn changed_lists(
    lists: &[AttrList],
    change: &AttrChange,
    style: &FileStyle<'_>,
    source: &[u8],
    charset: Charset,
) -> Result<String, char> {
    let (Some(first), Some(last)) = (lists.first(), lists.last()) else {
        let set: Vec<(String, DotId)> =
            change.set.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        return Ok(flat_list(&set));
    };
    let mut splices = Splices::default();
    change_lists(lists, last.span.end, change, style, source, &mut splices);
    let within = Span::new(first.span.start, last.span.end);
    let text = splices.apply(source, within, charset)?;
    let text = charset.decode(&text).into_owned();
    let text = text.trim_matches([' ', '\t']);
    Ok(if text.is_empty() { String::new() } else { format!(" {text}") })
}

fn take_out(
    list: &AttrList,
    goes: &impl Fn(&Assign) -> bool,
    style: &FileStyle<'_>,
    splices: &mut Splices,
) {
    let assigns = &list.assigns;
    let separator = |kind| matches!(kind, TokenKind::Mark(b',' | b';'));
    let mut at = 0;
    while at < assigns.len() {
        if !goes(&assigns[at]) {
            at += 1;
            continue;
        }
        let span = assigns[at].span;
        if style.indent(span.start).is_some()
            && let Some(end) = style.next_line(span.end, separator)
        {
            splices.remove(Span::new(style.line_start(span.start), end));
            at += 1;
            continue;
        }
        let first = at;
        while at < assigns.len() && goes(&assigns[at]) {
            at += 1;
        }
        let gone = match (first.checked_sub(1).map(|before| &assigns[before]), assigns.get(at)) {
            (_, Some(next)) => Span::new(span.start, next.span.start),
            (Some(before), None) => Span::new(before.span.end, assigns[at - 1].span.end),
            (None, None) => Span::new(span.start, assigns[at - 1].span.end),
        };
        splices.remove(gone);
    }
}

fn append(
    list: &AttrList,
    missing: &[(String, DotId)],
    goes: &impl Fn(&Assign) -> bool,
    style: &FileStyle<'_>,
    splices: &mut Splices,
) {
    let written = assigns(missing);
    let Some(last) = list.assigns.iter().rev().find(|assign| !goes(assign)) else {
        splices.insert(list.span.end - 1, written.join(", "));
        return;
    };
    let ListStyle { tall, separator } = style.list_style(list);
    let separated = style.separated(last.span.end);
    if tall
        && let Some(indent) = style.indent(last.span.start)
        && let Some(line) =
            style.next_line(last.span.end, |kind| matches!(kind, TokenKind::Mark(b',' | b';')))
    {
        if !separated {
            splices.insert(last.span.end, separator);
        }
        let trailing = if separated { separator } else { "" };
        let lines: Vec<String> =
            written.iter().map(|attribute| format!("{indent}{attribute}")).collect();
        let joined = lines.join(&format!("{separator}{}", style.eol));
        splices.insert(line, format!("{joined}{trailing}{}", style.eol));
        return;
    }
    let glue = format!("{separator} ");
    splices.insert(last.span.end, format!("{glue}{}", written.join(&glue)));
}
