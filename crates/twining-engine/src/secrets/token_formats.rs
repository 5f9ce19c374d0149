//! The formats of secrets that are recognized by their prefix.
//!
//! A table and one matcher instead of regular expressions: nothing to compile at process start, and
//! matching is linear in the text's length.

/// How a secret of some kind looks.
pub(super) struct TokenFormat {
    pub(super) kind: &'static str,
    /// What it may begin with, with bars between.
    prefixes: &'static str,
    /// What it goes on with, and how long.
    pub(super) body: fn(u8) -> bool,
    pub(super) least: usize,
    pub(super) most: usize,
}

const fn format(
    kind: &'static str,
    prefixes: &'static str,
    body: fn(u8) -> bool,
    least: usize,
    most: usize,
) -> TokenFormat {
    TokenFormat { kind, prefixes, body, least, most }
}

impl TokenFormat {
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &'static str> {
        self.prefixes.split('|')
    }
}

fn alnum(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

/// Letters, digits, `_` and `-`.
pub(super) fn word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

fn dotted(b: u8) -> bool {
    word(b) || b == b'.'
}

fn upper(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

fn hex(b: u8) -> bool {
    b.is_ascii_digit() || (b'a'..=b'f').contains(&b)
}

fn path(b: u8) -> bool {
    word(b) || b == b'/'
}

/// Base 64.
pub(super) fn base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
}

const ANY: usize = 4096;

/// Longer prefixes come before shorter ones they contain.
pub(super) static FORMATS: [TokenFormat; 48] = [
    format("Twining token", "twn_", word, 60, 90),
    format("AWS access key", "AKIA|ASIA|ABIA|ACCA", upper, 16, 16),
    format("GitHub token", "ghp_|gho_|ghu_|ghs_|ghr_", alnum, 36, 255),
    format("GitHub token", "github_pat_", word, 50, 255),
    format("GitLab token", "glpat-", dotted, 20, 255),
    format("GitLab token", "gldt-", word, 20, 255),
    format("GitLab token", "glrt-", dotted, 20, 255),
    format("GitLab token", "glcbt-|glptt-|glft-|glsoat-|gloas-", word, 20, 255),
    format("Slack token", "xoxb-|xoxp-|xoxa-|xoxr-|xoxs-|xoxe-", word, 20, 255),
    format("Slack token", "xoxe.xox", dotted, 20, 255),
    format("Slack token", "xapp-", word, 20, 255),
    format("Slack webhook", "hooks.slack.com/services/|hooks.slack.com/workflows/", path, 30, 255),
    format("Google API key", "AIza", word, 35, 35),
    format("Google secret", "GOCSPX-", word, 20, 64),
    format("Google token", "ya29.", word, 30, 1024),
    format("Stripe key", "sk_live_|sk_test_|rk_live_|rk_test_", alnum, 16, 255),
    format("Stripe webhook secret", "whsec_", base64, 24, 255),
    format("Anthropic key", "sk-ant-", word, 40, 255),
    format("OpenAI key", "sk-proj-|sk-svcacct-|sk-admin-", word, 40, 255),
    format("OpenRouter key", "sk-or-v1-", word, 40, 255),
    format("OpenAI key", "sk-", alnum, 40, 64),
    format("npm token", "npm_", alnum, 36, 36),
    format("PyPI token", "pypi-AgE", word, 50, 512),
    format("Hugging Face token", "hf_", alnum, 30, 40),
    format("SendGrid key", "SG.", dotted, 60, 80),
    format("Twilio key", "SK", hex, 32, 32),
    format("Mailgun key", "key-", hex, 32, 32),
    format("DigitalOcean token", "dop_v1_|doo_v1_|dor_v1_", hex, 64, 64),
    format("Databricks token", "dapi", hex, 32, 32),
    format("Shopify token", "shpat_|shpca_|shppa_|shpss_", alnum, 32, 32),
    format("Square token", "sq0atp-", word, 22, 22),
    format("Square token", "sq0csp-", word, 43, 43),
    format("Linear key", "lin_api_", alnum, 40, 48),
    format("Notion token", "ntn_", alnum, 40, 64),
    format("Atlassian token", "ATATT3", dotted, 60, 255),
    format("Vault token", "hvs.|hvb.", word, 24, 255),
    format("Doppler token", "dp.pt.", alnum, 40, 48),
    format("age key", "AGE-SECRET-KEY-1", upper, 58, 58),
    format("Azure storage key", "AccountKey=", base64, 80, 128),
    format("Discord webhook", "discord.com/api/webhooks/", path, 60, 255),
    format("Grafana token", "glsa_", word, 40, 64),
    format("Grafana token", "glc_", base64, 40, 255),
    format("New Relic key", "NRAK-", upper, 27, 27),
    format("Supabase token", "sbp_", hex, 40, 40),
    format("Replicate token", "r8_", alnum, 37, 40),
    format("Groq key", "gsk_", alnum, 48, 64),
    format("xAI key", "xai-", alnum, 70, 90),
    format("Terraform token", "atlasv1.", word, 60, ANY),
];
