//! docs/reference/config.md says what the code does.

use twining_store::Config;
use twining_testcases::each;

fn written() -> &'static str {
    let document = include_str!("../../../docs/reference/config.md");
    let block = document.split("```yaml\n").nth(1).expect("the settings stand in a block");
    block.split("```").next().expect("and the block ends")
}

#[test]
fn the_settings_in_the_document_are_the_defaults() {
    let read = Config::parse(written().as_bytes());
    assert_eq!(read, Config::default());
}

#[test]
fn every_setting_is_in_the_document() {
    let source = include_str!("../src/format/config.rs");
    let fields = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "))
        .map(|(name, _)| name);
    let settings: Vec<&str> =
        fields.filter(|name| *name != "notes" && !name.contains(' ')).collect();
    assert!(settings.len() > 20, "the fields of the settings were found: {settings:?}");
    each(settings, |name| {
        let key = format!("{name}:");
        assert!(
            written().lines().any(|line| line.trim_start().starts_with(&key)),
            "`{name}` is not in docs/reference/config.md"
        );
    });
}
