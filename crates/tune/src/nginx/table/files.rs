//! How files are opened, read and sent.

use super::need::Need;
use crate::entry::{Entry, Tries};

pub(super) const ENTRIES: &[Entry<Need>] = &[
    Entry {
        directive: "sendfile",
        default: "off",
        default_before: None,
        tries: Tries::Switch(&["on", "off"]),
        needs: &[],
        reason: "sendfile() sends pages of the page cache without copying them into nginx and back",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#sendfile",
    },
    Entry {
        directive: "tcp_nopush",
        default: "off",
        default_before: None,
        tries: Tries::Switch(&["on", "off"]),
        needs: &[Need::Sendfile],
        reason: "TCP_CORK puts a response's head and the beginning of its file into one packet, \
                 and takes two more system calls for each response",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#tcp_nopush",
    },
    Entry {
        directive: "sendfile_max_chunk",
        default: "2m",
        default_before: Some(((1, 21, 4), "0")),
        // ngx_http_write_filter() bounds every call by it, not sendfile() alone.
        tries: Tries::Amounts(&["0", "512k", "2m"]),
        needs: &[],
        reason: "it bounds what one call sends, so that a fast connection does not hold up the \
                 others of a worker",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#sendfile_max_chunk",
    },
    Entry {
        directive: "aio",
        default: "off",
        default_before: None,
        tries: Tries::Switch(&["threads"]),
        needs: &[Need::Built("--with-threads")],
        reason: "threads read files that are not in the page cache while the worker goes on; \
                 where they are in it, handing over costs CPU",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#aio",
    },
    Entry {
        directive: "directio",
        default: "off",
        default_before: None,
        tries: Tries::Switch(&["8m"]),
        needs: &[],
        reason: "large files are read past the page cache, and not by sendfile()",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#directio",
    },
    Entry {
        directive: "output_buffers",
        default: "2 32k",
        default_before: Some(((1, 9, 5), "1 32k")),
        tries: Tries::Amounts(&["2 32k", "2 128k"]),
        needs: &[Need::Buffers],
        reason: "larger buffers read and send more of a file in one call",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#output_buffers",
    },
    Entry {
        directive: "open_file_cache",
        default: "off",
        default_before: None,
        tries: Tries::Switch(&["max=10000 inactive=60s"]),
        needs: &[],
        reason: "descriptors and sizes of files are kept, which saves open(), fstat() and close() \
                 for each response",
        reference: "https://nginx.org/en/docs/http/ngx_http_core_module.html#open_file_cache",
    },
];
