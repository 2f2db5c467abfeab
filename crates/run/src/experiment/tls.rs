//! `tls`: cost of each way of sending encrypted, by cipher, beside paths in the clear.

use super::definition::{Definition, Tables};

pub(super) const DEFINITION: Definition = Definition {
    name: "tls",
    question: "What does TLS cost a byte, in user space and in the kernel?",
    title: "what TLS costs a byte, in user space and in the kernel",
    budget: "2m",
    plan: Ok(PLAN),
    tables: Some(Tables::Encryption),
    ..Definition::DEFAULT
};

const PLAN: &str = r#"
compare = ["send", "cipher"]

[[factor]]
name = "send"
levels = ["read+send", "sendfile", "tls-write", "ktls-write", "ktls-sendfile", "ktls-splice", "ktls-sendfile-zc"]

[[factor]]
name = "cipher"
levels = ["clear", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"]
"#;
