//! The window's files, embedded at build time, with their media types.

/// Path from `/`, and content.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/ui_files.rs"));

/// Shown instead of the window when the program was built without it.
const FALLBACK: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Onceover</title>\
    <h1>The broker runs, but this program was built without its window.</h1>\
    <p>Build it with <code>npm ci</code> and <code>npm run build</code> in the folder <code>ui</code>, then build \
    <code>onceoverd</code> again.</p></html>";

/// A file to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub content: &'static [u8],
    /// Whether its name changes with its content, so that it may be kept for ever.
    pub immutable: bool,
}

/// The file at a path; `/` is the window itself.
pub fn find(path: &str) -> Option<Asset> {
    let path = if path == "/" { "/index.html" } else { path };
    let found = FILES.iter().find(|(name, _)| *name == path).map(|(_, content)| *content);
    let content = found.or_else(|| (path == "/index.html").then_some(FALLBACK.as_bytes()))?;
    Some(Asset { media_type: media_type(path), content, immutable: path.starts_with("/assets/") })
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[path = "assets_tests.rs"]
mod assets_tests;
