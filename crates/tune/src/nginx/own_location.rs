//! A location of zc's own, for sites whose files cannot be asked: it serves as `location /` would.

use super::site;
use super::tree::Directive;
use crate::copy::OWN_LOCATION;

/// What of `location /` is about sending, logging and compressing files.
fn is_tunable(name: &str) -> bool {
    const NAMES: [&str; 31] = [
        "access_log",
        "add_header",
        "add_trailer",
        "aio",
        "aio_write",
        "charset",
        "chunked_transfer_encoding",
        "default_type",
        "directio",
        "directio_alignment",
        "disable_symlinks",
        "error_log",
        "etag",
        "expires",
        "http2_chunk_size",
        "if_modified_since",
        "log_not_found",
        "max_ranges",
        "output_buffers",
        "postpone_output",
        "read_ahead",
        "reset_timedout_connection",
        "send_lowat",
        "send_timeout",
        "sendfile",
        "sendfile_max_chunk",
        "server_tokens",
        "slice",
        "sub_filter",
        "tcp_nodelay",
        "tcp_nopush",
    ];
    let prefixes = [
        "brotli",
        "client_",
        "gunzip",
        "gzip",
        "keepalive_",
        "lingering_",
        "open_file_cache",
        "open_log_file_cache",
        "sub_filter_",
        "types",
        "zstd",
    ];
    NAMES.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The location, for a server block as it is in the copy.
pub(super) fn location(server: &[Directive], files: &str) -> Directive {
    let mut block = vec![Directive::new("root", [files])];
    if let Some(root) = site::root_location(server) {
        block.extend(root.children().iter().filter(|line| is_tunable(&line.name)).cloned());
    }
    Directive { block: Some(block), ..Directive::new("location", ["^~", OWN_LOCATION]) }
}
