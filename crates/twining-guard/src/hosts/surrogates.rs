//! Lone surrogates in JSON: `\\ud83d` without its pair. JavaScript writes them where
//! it cut a text in the middle of a character.

/// The JSON with U+FFFD for each lone surrogate; none where there is none.
pub(super) fn replaced(json: &str) -> Option<String> {
    let mut replaced = String::with_capacity(json.len());
    let mut has_lone = false;
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        replaced.push_str(before);
        let Some(unit) = unit(escape) else {
            // Two signs, so that an escaped backslash begins nothing.
            let length = escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at);
            replaced.push_str(&escape[..length]);
            rest = &escape[length..];
            continue;
        };
        let next = escape.get(6..).unwrap_or_default();
        let is_pair = (0xd800..0xdc00).contains(&unit) && self::unit(next).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        let length = if is_pair { 12 } else { 6 };
        if !is_pair && (0xd800..0xe000).contains(&unit) {
            has_lone = true;
            replaced.push_str("\\ufffd");
        } else {
            replaced.push_str(&escape[..length]);
        }
        rest = &escape[length..];
    }
    replaced.push_str(rest);
    has_lone.then_some(replaced)
}

/// The number that an escape such as `\\u00e9` stands for.
fn unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#"{"a":"x\ud800y"}"#, Some(r#"{"a":"x\ufffdy"}"#)),
            (r#"["\udc00\ud83d\ude00\uD83D"]"#, Some(r#"["\ufffd\ud83d\ude00\ufffd"]"#)),
            (r#"["\ud800\ud83d\ude00"]"#, Some(r#"["\ufffd\ud83d\ude00"]"#)),
            (r#"["\\ud800","\u00e9é","\n"]"#, None),
            (r#"["\ud83d\ude00"]"#, None),
            ("\\", None),
            ("\\u12", None),
            ("\\ué000", None),
        ] {
            assert_eq!(replaced(json).as_deref(), expected, "{json}");
        }
    }
}
