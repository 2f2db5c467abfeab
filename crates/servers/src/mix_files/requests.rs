//! The requests of a mix for files that are there, with what each of them is to be answered with.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::served_file::ServedFile;
use super::sizes::nearest;
use zc_access_log::{Asked, AskedKind, AskedMix};
use zc_load::{Expected, Method, Target, Targets};
use zc_run::{Error, Result};

/// Files for a mix, and the requests for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixFiles {
    /// The requests, in the order of the mix.
    pub targets: Targets,
    /// Kinds of the different requests, in the order of [`Targets::each`].
    pub kinds: Vec<AskedKind>,
    /// Files that are asked for.
    pub files: usize,
    /// Bytes of these files.
    pub file_bytes: u64,
    /// Bytes of the bodies of all requests of a cycle.
    pub body_bytes: u64,
    /// The same as the mix has them, before files of other lengths were taken.
    pub mix_body_bytes: u64,
}

impl MixFiles {
    /// Asks for the files that are nearest; `files` are in order of their lengths.
    ///
    /// # Errors
    /// A file cannot be read, or there is none.
    pub(super) fn new(mix: &AskedMix, files: &[ServedFile]) -> Result<Self> {
        let lengths: Vec<u64> = files.iter().map(|file| file.bytes).collect();
        let (mut targets, mut known) = (Vec::new(), BTreeMap::new());
        let (mut used, mut body_bytes) = (BTreeSet::new(), 0);
        let mut kinds = HashMap::new();
        for asked in &mix.requests {
            let (at, target) = match known.get(asked) {
                Some(made) => made,
                None => {
                    let made = request(*asked, files, &lengths)?;
                    known.entry(*asked).or_insert(made)
                }
            };
            used.insert(*at);
            body_bytes += target.expected.map_or(0, |expected| expected.body_bytes);
            kinds.entry(target.clone()).or_insert(asked.kind);
            targets.push(target.clone());
        }
        let targets = Targets::in_turn(targets).ok_or_else(no_file)?;
        Ok(Self {
            kinds: targets.each().iter().filter_map(|target| kinds.get(target)).copied().collect(),
            targets,
            files: used.len(),
            file_bytes: used.into_iter().map(|at| lengths[at]).sum(),
            body_bytes,
            mix_body_bytes: mix.body_bytes(),
        })
    }
}

fn no_file() -> Error {
    Error::input("mix-without-files", "there is no file or no request to measure with")
}

/// The place of the file that is asked for, and the request.
fn request(asked: Asked, files: &[ServedFile], lengths: &[u64]) -> Result<(usize, Target)> {
    let at = match asked.kind {
        AskedKind::Range => lengths
            .partition_point(|length| *length <= asked.bytes)
            .min(lengths.len().saturating_sub(1)),
        _ => nearest(lengths, asked.bytes).ok_or_else(no_file)?,
    };
    let file = files.get(at).ok_or_else(no_file)?;
    let plain = Target::from(file.target.clone());
    let header = |name: &str, value: String| vec![(name.to_owned(), value)];
    let content_length = Some(file.bytes);
    let target = match asked.kind {
        AskedKind::Range if file.bytes > 1 => {
            // From the middle, and never the whole file: servers may answer that with 200.
            let bytes = asked.bytes.clamp(1, file.bytes - 1);
            let begin = (file.bytes - bytes) / 2;
            let expected = Expected {
                status: 206,
                body_bytes: bytes,
                content_length: Some(bytes),
                crc32: Some(file.crc32(begin, bytes)?),
            };
            let range = format!("bytes={begin}-{}", begin + bytes - 1);
            Target { headers: header("Range", range), expected: Some(expected), ..plain }
        }
        AskedKind::Get | AskedKind::Range => {
            let crc32 = Some(file.crc32(0, file.bytes)?);
            let expected = Expected { status: 200, body_bytes: file.bytes, content_length, crc32 };
            Target { expected: Some(expected), ..plain }
        }
        AskedKind::Head => {
            let expected = Expected { status: 200, body_bytes: 0, content_length, crc32: None };
            Target { method: Method::Head, expected: Some(expected), ..plain }
        }
        AskedKind::NotModified => {
            // nginx compares for equality unless told otherwise (if_modified_since exact).
            let headers = header("If-Modified-Since", file.modified.clone());
            let expected =
                Expected { status: 304, body_bytes: 0, content_length: None, crc32: None };
            Target { headers, expected: Some(expected), ..plain }
        }
    };
    Ok((at, target))
}
