//! Reads saved runs, which strangers may have written, in a process that has no rights: root's zc
//! has it parse, estimate and render, and itself writes what comes back.

use serde_json::{Value, json};

use zc_rig::privileges::{give_up_all, has_capabilities, made_apart};
use zc_run::{Error, Result};

/// A document, and the exit code that goes with it.
pub(super) struct Document {
    pub(super) bytes: Vec<u8>,
    pub(super) code: u8,
    /// Text to store for the next time; mostly empty.
    pub(super) aside: String,
}

impl<T: Into<Vec<u8>>> From<T> for Document {
    fn from(bytes: T) -> Self {
        Self::with_code(bytes, 0)
    }
}

impl Document {
    /// A document without a text to store.
    pub(super) fn with_code(bytes: impl Into<Vec<u8>>, code: u8) -> Self {
        Self { bytes: bytes.into(), code, aside: String::new() }
    }
}

/// The document that `make` builds from open files. It prints nothing on stdout.
///
/// # Errors
/// Errors of `make`; its process cannot give up its rights, or has died.
pub(super) fn document(make: impl FnOnce() -> Result<Document>) -> Result<Document> {
    if !has_capabilities() {
        return make(); // an ordinary user, who has nothing that could be given up
    }
    // The child takes its copy of it, and leaves this one.
    let mut make = Some(make);
    let made = made_apart(|without_rights| {
        let make = make.take();
        make.map_or_else(Vec::new, |make| encoded(without_rights.and_then(|()| make())))
    });
    match (made, make) {
        // No further process may be had: this one gives up its rights.
        (Err(_), Some(make)) => {
            give_up_all()?;
            make()
        }
        (Err(error), None) => Err(Error::os("start a process that reads runs", error)),
        (Ok((bytes, ended)), _) => match decoded(bytes) {
            // Of a text without an end there is only its beginning.
            Some(document) if ended.success() => document,
            _ => Err(Error::failed(
                "reader-gone",
                format!("the process that reads the runs is gone ({ended})"),
            )
            .help("was it killed for lack of memory? dmesg tells")),
        },
    }
}

/// A line of JSON, and after it the document as it is, and what is kept.
fn encoded(made: Result<Document>) -> Vec<u8> {
    let (head, bytes, aside) = match made {
        Ok(Document { bytes, code, aside }) => {
            (json!({ "code": code, "bytes": bytes.len() }), bytes, aside)
        }
        Err(error) => (json!(error), Vec::new(), String::new()),
    };
    [head.to_string().as_bytes(), b"\n", &bytes, aside.as_bytes()].concat()
}

/// `None` if it is not whole.
fn decoded(mut head: Vec<u8>) -> Option<Result<Document>> {
    let end = head.iter().position(|byte| *byte == b'\n')?;
    let rest = head.split_off(end + 1);
    let head: Value = serde_json::from_slice(&head).ok()?;
    if let Some(code) = head["code"].as_u64() {
        let mut bytes = rest;
        let length = head["bytes"].as_u64().and_then(|length| usize::try_from(length).ok())?;
        let aside = (length <= bytes.len()).then(|| bytes.split_off(length))?;
        return Some(Ok(Document {
            bytes,
            code: code.try_into().ok()?,
            aside: String::from_utf8(aside).ok()?,
        }));
    }
    Some(Err(serde_json::from_value(head).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_what_was_made() {
        let text = "a line\nand {\"another\"}\n";
        let made = || Ok(Document { aside: "kept".to_owned(), ..Document::with_code(text, 14) });
        let document = decoded(encoded(made())).unwrap().unwrap();
        assert_eq!((document.bytes.as_slice(), document.code), (text.as_bytes(), 14));
        assert_eq!(document.aside, "kept");

        let error = Error::input("file-empty", "file \"x\" is empty").help("name another");
        assert_eq!(decoded(encoded(Err(error.clone()))).unwrap().err(), Some(error));
        let whole = encoded(made());
        assert!(decoded(whole[..5].to_vec()).is_none());
        assert!(decoded(Vec::new()).is_none());
    }

    #[test]
    fn a_process_with_threads_gives_up_its_own_rights() {
        // As the harness has, so that there can be no child. The rights are those of this thread.
        let made = || {
            assert!(!has_capabilities());
            Ok(String::from("made").into())
        };
        let document = std::thread::scope(|scope| {
            std::thread::Builder::new().spawn_scoped(scope, || document(made)).unwrap().join()
        });
        assert_eq!(document.unwrap().unwrap().bytes, b"made");
    }
}
