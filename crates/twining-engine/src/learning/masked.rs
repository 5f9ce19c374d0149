//! Text on its way into a file that git tracks: what looks like a secret is left
//! out. Rough on purpose: a word too many masked costs nothing.

/// How secrets of well-known services begin.
const STARTS: [&str; 14] =
    ["sk-", "sk_", "pk_live", "rk_live", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xox", "akia", "asia", "aiza", "eyj"];
/// Names whose value is nobody's business.
const NAMES: [&str; 8] = ["token", "secret", "passw", "apikey", "api_key", "api-key", "credential", "private"];
/// Words after which a secret follows.
const BEFORE: [&str; 4] = ["bearer", "basic", "token", "authorization:"];
const MASK: &str = "[masked]";

/// The text with what looks like a secret left out.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut follows = false;
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let plain = bare.trim_matches(['"', '\'', '`', ',', ';', '(', ')']);
        if follows && !plain.is_empty() && !BEFORE.contains(&plain.to_lowercase().as_str()) {
            out.push_str(MASK);
        } else {
            out.push_str(&one(bare, plain));
        }
        out.push_str(&word[bare.len()..]);
        let lower = plain.to_lowercase();
        follows = BEFORE.contains(&lower.as_str())
            || (lower.starts_with('-') && !lower.contains('=') && NAMES.iter().any(|name| lower.contains(name)));
    }
    out
}

fn one(word: &str, plain: &str) -> String {
    let lower = plain.to_lowercase();
    if let Some((name, value)) = word.split_once(['=', ':'])
        && !value.trim_matches(['"', '\'', '/']).is_empty()
        && NAMES.iter().any(|known| name.to_lowercase().contains(known))
    {
        return format!("{name}={MASK}");
    }
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((who, place)) = rest.split_once('@')
        && !who.contains('/')
    {
        return format!("{scheme}://{MASK}@{place}");
    }
    let begins = STARTS.iter().any(|start| lower.starts_with(start)) && plain.len() >= 16;
    // The guard of a decision is called by its id, which is no secret.
    let plain = plain.trim_matches(['[', ']']);
    let plain = plain.strip_prefix("decision-").unwrap_or(plain);
    let value = plain.rsplit('=').next().unwrap_or(plain);
    if begins || is_random(plain) || is_random(value) || plain.starts_with("-----BEGIN") { MASK.to_owned() } else { word.to_owned() }
}

/// Long, without blanks or dots, with digits and letters of both cases.
fn is_random(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "+/_-=".contains(c);
    let has = |test: fn(&char) -> bool| word.chars().any(|c| test(&c));
    word.len() >= 24
        && word.chars().all(fits)
        && word.matches('/').count() < 3
        && has(char::is_ascii_digit)
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_on_a_command_line_does_not_reach_a_tracked_file() {
        for secret in [
            "curl -H 'Authorization: Bearer abc123' https://x.test",
            "git clone https://bob:abc123@github.test/x",
            "export API_TOKEN=abc123",
            "mysql --password abc123",
            "deploy --api-key=abc123",
            "echo ghp_abc123abc123abc123abc123",
            "echo wJalrXUtnFEMIabc123bPxRfiCYEXAMPLEKEY",
        ] {
            let masked_text = masked(secret);
            assert!(!masked_text.contains("abc123") && masked_text.contains(MASK), "{masked_text}");
        }
    }

    #[test]
    fn an_ordinary_line_stays_readable() {
        for plain in [
            "git push --force origin main",
            "cargo test -p twining-engine learning::tests",
            "revert 3f2a91c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2",
            "see https://docs.test/a/b?c=d and src/auth/TokenStore.ts",
            "entry 01M7EB3QWY4C5CPJF6982ZJQ18",
            "decision-01M7EB3QWY4C5CPJF6982ZJQ18",
        ] {
            assert_eq!(masked(plain), plain);
        }
    }
}
