//! A notebook with one of its cells edited.

use serde_json::{Value, json};

use crate::event::NotebookCell;

/// The notebook with the edit carried out; none where it is no notebook, or has no such cell.
pub(super) fn edited_notebook(notebook: Option<&str>, cell: &NotebookCell) -> Option<String> {
    let mut whole: Value = match notebook {
        Some(text) if !text.trim().is_empty() => serde_json::from_str(text).ok()?,
        _ => json!({ "cells": [] }),
    };
    let cells = whole.get_mut("cells")?.as_array_mut()?;
    let is_meant = |(at, known): &(usize, &Value)| match (&cell.id, cell.number) {
        (Some(id), _) => {
            known.get("id").and_then(Value::as_str) == Some(id) || id.strip_prefix("cell-").and_then(|at| at.parse().ok()) == Some(*at)
        }
        (None, Some(number)) => *at == number,
        (None, None) => false,
    };
    let meant = cells.iter().enumerate().find(is_meant).map(|(at, _)| at);
    // Each line by itself, as notebooks are written and rules read.
    let source = json!(cell.source.split_inclusive('\n').collect::<Vec<_>>());
    match (cell.mode.as_str(), meant) {
        ("insert", after) => {
            let kind = if cell.kind.is_empty() { "code" } else { &cell.kind };
            let at = after.map_or(0, |at| at + 1).min(cells.len());
            cells.insert(at, json!({"cell_type": kind, "metadata": {}, "source": source}));
        }
        ("delete", Some(at)) => drop(cells.remove(at)),
        ("delete", None) => return None,
        (_, Some(at)) => *cells.get_mut(at)?.as_object_mut()?.entry("source").or_insert(Value::Null) = source,
        (_, None) => return None,
    }
    serde_json::to_string_pretty(&whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_replaced_put_in_and_taken_out() {
        let notebook = r##"{"cells": [{"id": "a", "cell_type": "code", "source": ["x = 1\n"]}, {"id": "b", "cell_type": "markdown", "source": "# B"}], "nbformat": 4}"##;
        let of = |id: &str, mode: &str| NotebookCell {
            id: Some(id.to_owned()),
            source: "import kind\nx".to_owned(),
            mode: mode.to_owned(),
            ..NotebookCell::default()
        };
        let sources = |cell: &NotebookCell| {
            let edited: Value = serde_json::from_str(&edited_notebook(Some(notebook), cell)?).ok()?;
            Some(edited["cells"].as_array()?.iter().map(|cell| cell["source"].to_string()).collect::<Vec<_>>())
        };
        let new = r#"["import kind\n","x"]"#;
        assert_eq!(sources(&of("a", "replace")), Some(vec![new.to_owned(), "\"# B\"".to_owned()]));
        assert_eq!(sources(&of("cell-1", "")), Some(vec![r#"["x = 1\n"]"#.to_owned(), new.to_owned()]));
        assert_eq!(sources(&of("a", "insert")).map(|all| all[1].clone()), Some(new.to_owned()));
        assert_eq!(sources(&of("b", "delete")).map(|all| all.len()), Some(1));
        assert_eq!(sources(&of("nobody", "replace")), None);
        assert_eq!(edited_notebook(Some("no notebook"), &of("a", "insert")), None);
        assert!(edited_notebook(None, &of("a", "insert")).is_some_and(|text| text.contains("import kind")));
    }
}
