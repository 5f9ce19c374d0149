//! Our server in Codex' `config.toml`; comments, order and every other table stay.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

const SERVERS: &str = "mcp_servers";
const US: &str = "twining";
/// Which profile of permissions holds, and where they are.
const CHOSEN: &str = "default_permissions";
const PROFILES: &str = "permissions";

/// The text with our server in it, started with these words.
pub(crate) fn put(text: &str, args: &[String]) -> Result<String, String> {
    let mut document = read(text)?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers =
        servers.as_table_like_mut().ok_or_else(|| format!("`{SERVERS}` is not a table"))?;
    match servers.get(US) {
        Some(there) if !is_ours(there) => {
            return Err(format!("`{SERVERS}.{US}` already exists and starts something else"));
        }
        Some(there) if words(there.get("args")) == args => return Ok(text.to_owned()),
        _ => {}
    }
    let mut entry = Table::new();
    entry.insert("command", value(US));
    entry.insert("args", value(args.iter().collect::<Array>()));
    servers.insert(US, Item::Table(entry));
    Ok(document.to_string())
}

/// The text without it; nothing if that leaves nothing.
pub(crate) fn take(text: &str) -> Result<Option<String>, String> {
    let mut document = read(text)?;
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return Ok(Some(text.to_owned()));
    };
    if !servers.get(US).is_some_and(is_ours) {
        return Ok(Some(text.to_owned()));
    }
    servers.remove(US);
    if servers.is_empty() {
        document.remove(SERVERS);
    }
    let text = document.to_string();
    Ok((!text.trim().is_empty()).then_some(text))
}

/// The text with a profile of ours for commands: they write in the project, but for this
/// folder. Codex takes no profile that is not also chosen, so one that somebody
/// has chosen stays, and nothing is put beside it.
pub(crate) fn put_read_only(text: &str, folder: &str) -> Result<String, String> {
    let mut document = read(text)?;
    let chosen = document.get(CHOSEN).map(|chosen| chosen.as_str() == Some(US));
    if chosen == Some(false)
        || (chosen.is_none()
            && (document.contains_key("sandbox_mode") || document.contains_key(PROFILES)))
    {
        let line = format!("\":workspace_roots\" = {{ \"{folder}\" = \"read\" }}");
        return Err(format!(
            "its sandbox is set to something else; add `{line}` to that profile's `filesystem` yourself"
        ));
    }
    // A table below `:workspace_roots` is refused by some versions; an inline one is read by all.
    let mut folders = InlineTable::new();
    folders.insert(folder, "read".into());
    let mut filesystem = Table::new();
    filesystem.insert(":workspace_roots", value(folders));
    let mut profile = Table::new();
    profile.insert("extends", value(":workspace"));
    profile.insert("filesystem", Item::Table(filesystem));
    let mut profiles = Table::new();
    profiles.set_implicit(true);
    profiles.insert(US, Item::Table(profile));
    if document
        .get(PROFILES)
        .and_then(|there| there.get(US))
        .is_some_and(|there| same(there, &profiles[US]))
    {
        return Ok(text.to_owned());
    }
    document.insert(CHOSEN, value(US));
    let all = document.entry(PROFILES).or_insert_with(|| Item::Table(profiles.clone()));
    let all = all.as_table_like_mut().ok_or_else(|| format!("`{PROFILES}` is not a table"))?;
    all.insert(US, profiles[US].clone());
    Ok(document.to_string())
}

/// The text without that profile; nothing if that leaves nothing.
pub(crate) fn take_read_only(text: &str) -> Result<Option<String>, String> {
    let mut document = read(text)?;
    if !is_read_only(text) {
        return Ok(Some(text.to_owned()));
    }
    document.remove(CHOSEN);
    if let Some(all) = document.get_mut(PROFILES).and_then(Item::as_table_like_mut) {
        all.remove(US);
        if all.is_empty() {
            document.remove(PROFILES);
        }
    }
    let text = document.to_string();
    Ok((!text.trim().is_empty()).then_some(text))
}

/// Whether our profile is chosen.
pub(crate) fn is_read_only(text: &str) -> bool {
    read(text).is_ok_and(|document| document.get(CHOSEN).and_then(Item::as_str) == Some(US))
}

/// The command and its words, if the file starts us.
pub(crate) fn entry(text: &str) -> Option<(String, Vec<String>)> {
    let document = read(text).ok()?;
    let entry = document.get(SERVERS)?.get(US)?;
    Some((entry.get("command")?.as_str()?.to_owned(), words(entry.get("args"))))
}

/// What the file says, as JSON would say it: hooks are named in the same shape in both.
pub(crate) fn as_json(text: &str) -> Result<serde_json::Value, String> {
    Ok(table_as_json(read(text)?.as_table()))
}

fn table_as_json(table: &dyn TableLike) -> serde_json::Value {
    let item_as_json = |item: &Item| match item {
        Item::Value(one) => value_as_json(one),
        Item::Table(table) => table_as_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_as_json(table)).collect(),
        Item::None => serde_json::Value::Null,
    };
    table.iter().map(|(key, item)| (key.to_owned(), item_as_json(item))).collect()
}

fn value_as_json(one: &Value) -> serde_json::Value {
    match one {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(yes) => (*yes.value()).into(),
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(list) => list.iter().map(value_as_json).collect(),
        Value::InlineTable(table) => table_as_json(table),
    }
}

fn read(text: &str) -> Result<DocumentMut, String> {
    // The parser's message spans lines; the first says where.
    text.parse::<DocumentMut>()
        .map_err(|error| error.to_string().lines().next().unwrap_or("not valid TOML").to_owned())
}

/// Whether two parts of a file say the same.
fn same(one: &Item, other: &Item) -> bool {
    let table_of = |item: &Item| item.as_table_like().map(table_as_json);
    table_of(one).is_some() && table_of(one) == table_of(other)
}

fn is_ours(entry: &Item) -> bool {
    entry.get("command").and_then(Item::as_str) == Some(US)
}

fn words(list: Option<&Item>) -> Vec<String> {
    let words = list.and_then(Item::as_array).into_iter().flatten();
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    fn args() -> Vec<String> {
        ["mcp", "--tools", "lite"].map(str::to_owned).to_vec()
    }

    #[test]
    fn others_tables_and_comments_survive_our_coming_and_going() {
        each(
            [
                "",
                "model = \"x\" # mine\n",
                "# top\n[mcp_servers.other]\ncommand = \"o\" # keep\n\n[tui]\ntheme = \"dark\"\n",
                "mcp_servers = { other = { command = \"o\" } }\n",
            ],
            |text| {
                let with = put(text, &args()).expect("fits");
                assert_eq!(put(&with, &args()).expect("fits"), with, "twice is once");
                assert_eq!(entry(&with), Some(("twining".to_owned(), args())), "{with}");
                for kept in ["# mine", "# top", "# keep", "\"dark\""] {
                    assert_eq!(with.contains(kept), text.contains(kept), "{kept} in {with}");
                }
                let without = take(&with).expect("parses").unwrap_or_default();
                assert_eq!(without, text);
            },
        );
    }

    #[test]
    fn a_read_only_folder_comes_changes_and_goes() {
        each(
            ["", "model = \"x\" # mine\n", "# top\n[mcp_servers.other]\ncommand = \"o\" # keep\n"],
            |text| {
                let with = put_read_only(text, ".twining/local").expect("fits");
                assert_eq!(
                    put_read_only(&with, ".twining/local").expect("fits"),
                    with,
                    "twice is once"
                );
                let settings = as_json(&with).expect("parses");
                assert_eq!(settings["default_permissions"], "twining");
                let profile = serde_json::json!({"extends": ":workspace", "filesystem": {":workspace_roots": {".twining/local": "read"}}});
                assert_eq!(settings["permissions"], serde_json::json!({ "twining": profile }));
                let strict = put_read_only(&with, ".twining").expect("fits");
                assert!(
                    strict.contains("{ \".twining\" = \"read\" }") && !strict.contains("local"),
                    "{strict}"
                );
                assert_eq!(take_read_only(&strict).expect("parses").unwrap_or_default(), text);
            },
        );
    }

    #[test]
    fn a_sandbox_that_somebody_has_set_up_stays() {
        each(
            [
                "sandbox_mode = \"read-only\"\n",
                "default_permissions = \":read-only\"\n",
                "[permissions.dev]\nextends = \":workspace\"\n",
            ],
            |theirs| {
                assert!(
                    put_read_only(theirs, ".twining")
                        .expect_err("is theirs")
                        .contains("something else")
                );
                assert_eq!(take_read_only(theirs).expect("parses").as_deref(), Some(theirs));
            },
        );
    }

    #[test]
    fn hooks_in_toml_are_hooks_in_json() {
        let text = "[features]\nhooks = true\n[[hooks.PreToolUse]]\nmatcher = \".*\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"twining hook\"\ntimeout = 5\n";
        let hook = serde_json::json!({"type": "command", "command": "twining hook", "timeout": 5});
        let wanted = serde_json::json!({"features": {"hooks": true}, "hooks": {"PreToolUse": [{"matcher": ".*", "hooks": [hook]}]}});
        assert_eq!(as_json(text), Ok(wanted.clone()));
        let inline = "features = { hooks = true }\nhooks.PreToolUse = [{ matcher = \".*\", hooks = [{ type = \"command\", command = \"twining hook\", timeout = 5 }] }]\n";
        assert_eq!(as_json(inline), Ok(wanted));
        assert!(as_json("a = [").is_err());
    }

    #[test]
    fn somebody_elses_server_of_our_name_stays() {
        let theirs = "[mcp_servers.twining]\ncommand = \"npx\"\nargs = [\"twining-mcp\"]\n";
        assert!(put(theirs, &args()).is_err());
        assert_eq!(take(theirs).expect("parses").as_deref(), Some(theirs));
        assert!(put("a = [", &args()).expect_err("is no TOML").contains("line 1"));
    }
}
