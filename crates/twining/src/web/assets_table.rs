//! The files of the page. Made by `scripts/ui`; do not edit.

/// The page itself, for every address that is not an asset's.
pub(super) const SHELL: &[u8] = include_bytes!("../../../../web/dist/index.html");

/// Address, content type and bytes of every other file. An address has a hash of the content.
pub(super) const ASSETS: [(&str, &str, &[u8]); 8] = [
    (
        "/assets/LICENSES-25957970.txt",
        "text/plain; charset=utf-8",
        include_bytes!("../../../../web/dist/LICENSES.txt"),
    ),
    (
        "/assets/app-KQS7PKRO.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../../../web/dist/app.js"),
    ),
    (
        "/assets/chunk-3IEZX7NY.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../../../web/dist/chunk.js"),
    ),
    ("/assets/icon-F873937B.svg", "image/svg+xml", include_bytes!("../../../../web/dist/icon.svg")),
    (
        "/assets/later-2WSEE7XI.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../../../web/dist/later.js"),
    ),
    (
        "/assets/lists-OBQ6LI2U.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../../../web/dist/lists.js"),
    ),
    (
        "/assets/map-JOHITFFG.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../../../web/dist/map.js"),
    ),
    (
        "/assets/style-F7NQQA3I.css",
        "text/css; charset=utf-8",
        include_bytes!("../../../../web/dist/style.css"),
    ),
];
