//! Programs by what they do with their arguments.

/// Programs that only look. Everything that is on no list may do anything with
/// the paths it is given.
pub(super) const READERS: [&str; 57] = [
    "cat",
    "less",
    "more",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "jq",
    "wc",
    "diff",
    "cmp",
    "comm",
    "ls",
    "stat",
    "file",
    "du",
    "df",
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "sha256sum",
    "sha1sum",
    "md5sum",
    "cksum",
    "nl",
    "tac",
    "rev",
    "cut",
    "tr",
    "column",
    "fold",
    "strings",
    "xxd",
    "od",
    "hexdump",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "bat",
    "tree",
    "cd",
    "pushd",
    "popd",
    "pwd",
    "export",
    "set",
    "unset",
    "true",
    "false",
    "which",
];

/// Programs that start another one, and how many words of theirs come first.
pub(super) const WRAPPERS: [(&str, usize); 22] = [
    ("coproc", 0),
    ("sudo", 0),
    ("doas", 0),
    ("nohup", 0),
    ("time", 0),
    ("nice", 0),
    ("ionice", 0),
    ("command", 0),
    ("builtin", 0),
    ("exec", 0),
    ("stdbuf", 0),
    ("setsid", 0),
    ("busybox", 0),
    ("env", 0),
    ("timeout", 1),
    ("xargs", 0),
    ("chronic", 0),
    ("flock", 1),
    ("parallel", 0),
    ("systemd-run", 0),
    ("unbuffer", 0),
    ("npx", 0),
];

/// Programs that read lines as we do.
pub(super) const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "ash"];
/// Stands for whatever another server runs code with.
pub(crate) const CODE: &str = "code-of-any-language";
/// Programs that are given code.
pub(super) const INTERPRETERS: [&str; 13] =
    [CODE, "python", "python2", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "osascript", "tclsh"];
/// Programs of PowerShell that change the files they are given.
pub(super) const CMDLETS: [&str; 10] = [
    "set-content",
    "add-content",
    "clear-content",
    "out-file",
    "new-item",
    "remove-item",
    "move-item",
    "copy-item",
    "rename-item",
    "tee-object",
];
/// Programs that change the files they are given.
pub(super) const EDITORS: [&str; 10] = ["apply_patch", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "sponge", "shred"];
