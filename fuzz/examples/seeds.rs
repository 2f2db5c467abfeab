//! Writes inputs to begin a corpus with, for the targets that take bytes as they are:
//! `cargo run --example seeds`. The other targets begin from nothing.

use std::fs;
use std::path::Path;

use zc_fuzz::runs;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let put = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(corpus.join(target))?;
        fs::write(corpus.join(target).join(name), bytes)
    };
    for (place, text) in runs::seeds().iter().enumerate() {
        put("run_bytes", &format!("seed-{place}"), text.as_bytes())?;
    }
    let hello = r#"{"zc":"serve","protocol":4,"version":"0.2.0","nonce":""#.to_owned()
        + &"0f".repeat(32)
        + "\"}";
    for (name, text) in [
        ("seed-hello", format!("{hello}\n")),
        (
            "seed-prompt",
            format!("Last login: never\nzc-via: runs zc 0.2.0 at /usr/bin/zc\n$ {hello}\n"),
        ),
        ("seed-missing", "zc-via: missing\n".to_owned()),
        ("seed-broken", "zc-via: broken /usr/bin/zc\nzc-via: terminal\n".to_owned()),
        ("seed-other", hello.replace(":3,", ":4,").replace("0.2.0", "9 \\u001b[2J")),
    ] {
        put("via", name, text.as_bytes())?;
    }
    Ok(())
}
