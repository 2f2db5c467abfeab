//! Modules of a kernel as they are loaded: decompressed, whichever way the distribution packs them.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// The bytes of a module.
///
/// # Errors
/// It cannot be read or decompressed; of `.xz`, also where there is no program `xz`.
pub(crate) fn module(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => all(&mut MultiGzDecoder::new(file)),
        Some("zst") => {
            all(&mut StreamingDecoder::new(BufReader::new(file)).map_err(|error| broken(&error))?)
        }
        Some("xz") => {
            let mut xz = Command::new("xz");
            let output = xz.arg("-dc").stdin(file).stderr(Stdio::null()).output();
            let output = output.map_err(|error| {
                io::Error::new(error.kind(), format!("the program \"xz\": {error}"))
            })?;
            match output.status.success() {
                true => Ok(output.stdout),
                false => Err(io::Error::other("xz does not decompress it")),
            }
        }
        _ => all(&mut file),
    }
}

fn all(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn broken(error: &dyn std::error::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn modules_are_decompressed_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let text: &[u8] = b"a module, a module, a module";
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(text).unwrap();
        let zst = compress_to_vec(text, CompressionLevel::Fastest);
        for (name, bytes) in
            [("a.ko", text.to_vec()), ("a.ko.gz", gz.finish().unwrap()), ("a.ko.zst", zst)]
        {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(module(&path).unwrap(), text, "{name}");
        }
        let broken = folder.path().join("b.ko.zst");
        std::fs::write(&broken, "no zstd").unwrap();
        assert!(module(&broken).is_err());
    }
}
