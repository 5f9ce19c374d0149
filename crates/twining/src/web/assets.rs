//! The page itself, out of the program. It holds no data and needs no key.

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use twining_store::disk::hash_of;

use crate::web::access::WebError;
use crate::web::address;
use crate::web::assets_table::{ASSETS, SHELL};

/// An asset, which never changes under its address; else the shell, which decides by the address
/// what to show, also that there is nothing there.
pub(super) async fn serve(
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let path = uri.path();
    if let Some((_, kind, bytes)) = ASSETS.iter().find(|(address, ..)| *address == path) {
        let forever = "public, max-age=31536000, immutable";
        let kinds = [(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, forever)];
        return Ok((kinds, *bytes).into_response());
    }
    if method != Method::GET || path.starts_with("/assets/") || path.starts_with("/api/") {
        return Err(WebError::new("NOT_FOUND", "there is nothing at this address"));
    }
    let tag = format!("\"{:016x}\"", hash_of(SHELL));
    let kinds = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::ETAG, tag.as_str()),
    ];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str()) {
        return Ok((StatusCode::NOT_MODIFIED, kinds).into_response());
    }
    let status = if address::is_known(path) { StatusCode::OK } else { StatusCode::NOT_FOUND };
    Ok((status, kinds, SHELL).into_response())
}
