//! Paths of the caller's machine: an agent in another place sends absolute ones, and names its
//! project's folder in a header, so that scopes can be made relative to it.

use serde_json::{Map, Value};

/// Fields that hold scopes or paths. Nothing else is touched: a sentence may begin with a path.
const PATH_FIELDS: [&str; 11] = [
    "scope",
    "affected_files",
    "paths",
    "files",
    "path",
    "name",
    "entity",
    "source",
    "target",
    "from",
    "to",
];

/// Makes the paths below `root` relative to it.
pub(super) fn relative_to(root: &str, fields: &mut Map<String, Value>) {
    let root = root.trim_end_matches(['/', '\\']);
    if root.is_empty() {
        return;
    }
    for name in PATH_FIELDS {
        match fields.get_mut(name) {
            Some(Value::String(path)) => shorten(root, path),
            Some(Value::Array(paths)) => {
                for path in paths {
                    if let Value::String(path) = path {
                        shorten(root, path);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether a path is still absolute: of a machine whose project folder nobody named.
pub(super) fn has_absolute(fields: &Map<String, Value>) -> bool {
    let is_absolute = |path: &Value| path.as_str().is_some_and(|path| path.starts_with('/'));
    let values = PATH_FIELDS.iter().filter_map(|name| fields.get(*name));
    values
        .flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice))
        .any(is_absolute)
}

fn shorten(root: &str, path: &mut String) {
    let Some(rest) = path.strip_prefix(root) else { return };
    if rest.is_empty() {
        *path = "project".to_owned();
    } else if rest.starts_with(['/', '\\']) {
        let inside = rest.trim_start_matches(['/', '\\']);
        *path = if inside.is_empty() { "project".to_owned() } else { inside.to_owned() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shortened(root: &str, fields: Value) -> Value {
        let Value::Object(mut fields) = fields else { unreachable!("it is an object") };
        relative_to(root, &mut fields);
        Value::Object(fields)
    }

    #[test]
    fn paths_of_another_machine_become_relative() {
        let given = json!({
            "scope": "/home/ada/shop/src/auth/",
            "affected_files": ["/home/ada/shop/a.rs", "b.rs", "/home/ada/shopping/c.rs"],
            "summary": "/home/ada/shop/src is slow",
        });
        let expected = json!({
            "scope": "src/auth/",
            "affected_files": ["a.rs", "b.rs", "/home/ada/shopping/c.rs"],
            "summary": "/home/ada/shop/src is slow",
        });
        assert_eq!(shortened("/home/ada/shop/", given), expected);
        assert_eq!(shortened("/w", json!({"scope": "/w"})), json!({"scope": "project"}));
    }

    #[test]
    fn the_root_of_a_disk_is_no_project() {
        assert_eq!(shortened("/", json!({"scope": "/etc"})), json!({"scope": "/etc"}));
    }
}
