//! How files are read and sent.

use super::need::Need;
use crate::entry::{Entry, Tries};

pub(super) const ENTRIES: &[Entry<Need>] = &[
    Entry {
        directive: "EnableSendfile",
        default: "Off",
        default_before: Some(((2, 3, 9), "On")),
        tries: Tries::Switch(&["On", "Off"]),
        needs: &[Need::Plain],
        reason: "sendfile() sends pages of the page cache without copying them into Apache",
        reference: "https://httpd.apache.org/docs/2.4/mod/core.html#enablesendfile",
    },
    Entry {
        directive: "EnableMMAP",
        default: "On",
        default_before: None,
        tries: Tries::Switch(&["On", "Off"]),
        needs: &[Need::Reads],
        reason: "a mapped file is not copied into a buffer of Apache, but each request maps it and \
                 unmaps it again",
        reference: "https://httpd.apache.org/docs/2.4/mod/core.html#enablemmap",
    },
    Entry {
        directive: "ReadBufferSize",
        default: "8192",
        default_before: None,
        tries: Tries::Amounts(&["8192", "65536"]),
        needs: &[Need::Buffers, Need::Since((2, 4, 27))],
        reason: "a larger buffer reads and sends more of a file in one call",
        reference: "https://httpd.apache.org/docs/2.4/mod/core.html#readbuffersize",
    },
    Entry {
        directive: "FlushMaxThreshold",
        default: "65535",
        default_before: None,
        tries: Tries::Amounts(&["65535", "1048576"]),
        needs: &[Need::Since((2, 4, 47))],
        reason: "above it a worker waits until the socket has taken what is left, below it the \
                 rest is sent without a worker",
        reference: "https://httpd.apache.org/docs/2.4/mod/core.html#flushmaxthreshold",
    },
    Entry {
        directive: "SendBufferSize",
        default: "0",
        default_before: None,
        tries: Tries::Switch(&["1048576"]),
        needs: &[],
        reason: "a buffer of this size takes a whole response in one call, and is no longer sized \
                 by the kernel",
        reference: "https://httpd.apache.org/docs/2.4/mod/mpm_common.html#sendbuffersize",
    },
];
