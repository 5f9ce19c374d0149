//! Changes as agents and formatters make them, one test each.

mod honest;
mod lazy;
mod limits;
mod reading;

/// Rows of `name: path, before, after` and what is noted; a list that is not named is empty.
macro_rules! changes {
    ($($name:ident: $path:literal, $before:expr, $after:expr, { $($kind:ident: $noted:expr),* };)*) => {$(
        #[test]
        fn $name() {
            let [before, after] = [String::from($before), String::from($after)];
            let [before, after] = [&before, &after].map(|text| Some(text.as_str()).filter(|text| !text.is_empty()));
            let noted = crate::checks::tests_changed::compare::compare_files([($path, before, after)]);
            let expected = crate::checks::tests_changed::compare::TestChanges {
                $($kind: $noted.iter().map(ToString::to_string).collect(),)*
                ..Default::default()
            };
            assert_eq!(noted, expected);
        }
    )*};
}
use changes;
