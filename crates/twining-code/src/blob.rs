//! The id that git gives to the content of a file.

use sha1::{Digest as _, Sha1};

/// Git's blob id: SHA-1 of `blob `, the length, a zero byte and the bytes.
#[must_use]
pub fn blob_id(bytes: &[u8]) -> [u8; 20] {
    let mut hasher = Sha1::new();
    hasher.update(b"blob ");
    hasher.update(bytes.len().to_string());
    hasher.update([0]);
    hasher.update(bytes);
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_one_git_prints() {
        let hex = |bytes: &[u8]| -> String {
            blob_id(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(hex(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(hex(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
