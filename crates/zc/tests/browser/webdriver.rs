//! A browser by remote control: as much of WebDriver (W3C, WebDriver Level 2) as the tests of the
//! page need, spoken to Debian's chromedriver over plain HTTP/1.1.
//!
//! There are crates for this. headless_chrome 1.0 brings a WebSocket and the whole DevTools
//! protocol as generated code, thirtyfour and fantoccini bring tokio, which deny.toml refuses.
//! These tests use five requests with JSON in them, and serde_json is there already, so that the
//! tree grows by nothing. The driver's keys and clicks are like a user's: they go to what has the
//! focus, and to what lies under the pointer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::running::{Bounded as _, Running};

/// A browser with one window.
pub(crate) struct Browser {
    port: u16,
    session: String,
    _driver: Running,
    /// The browser's files, removed with it.
    _folder: tempfile::TempDir,
}

/// Why there is none.
pub(crate) struct Missing(pub(crate) String);

impl Browser {
    /// Starts one.
    ///
    /// # Errors
    /// Chromium or its driver is not installed.
    pub(crate) fn start() -> Result<Self, Missing> {
        let chromium = installed(&["chromium", "chromium-browser"])
            .ok_or_else(|| Missing("chromium is not installed".to_owned()))?;
        let chromedriver = installed(&["chromedriver"]).ok_or_else(|| {
            Missing("chromedriver is not installed (Debian: chromium-driver)".to_owned())
        })?;
        let folder = tempfile::tempdir().unwrap();
        let mut driver = Command::new(chromedriver)
            .arg("--port=0")
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .start()
            .unwrap();
        // `ChromeDriver was started successfully on port 39231.`, behind `Starting ChromeDriver
        // 156.0 (...) on port 0`.
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                line.rsplit_once(" successfully on port ")?.1.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver says its port or ends");
        // What it says later must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));

        let data = format!("--user-data-dir={}", folder.path().join("data").display());
        let arguments = [
            "--headless",
            // Root has no sandbox, nor has a container; what is opened is a page of ours, from a
            // file.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-quic",
            "--window-size=1200,900",
            data.as_str(),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": chromium, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let answer = request(port, "POST", "/session", &wanted);
        let session = answer["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no session: {answer}"))
            .to_owned();
        Ok(Self { port, session, _driver: driver, _folder: folder })
    }

    fn post(&self, what: &str, body: &Value) -> Value {
        let answer = request(self.port, "POST", &format!("/session/{}/{what}", self.session), body);
        assert!(answer.get("error").is_none(), "{what}: {}", answer["message"]);
        answer
    }

    /// Goes to a file.
    pub(crate) fn open(&self, file: &Path) {
        self.post("url", &json!({"url": format!("file://{}", file.display())}));
    }

    /// Executes the body of a function in the page and returns its result.
    pub(crate) fn script(&self, body: &str) -> Value {
        self.post("execute/sync", &json!({"script": body, "args": []}))
    }

    /// A command of the DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// Clicks what lies in the middle of the first element that fits.
    pub(crate) fn click(&self, selector: &str) {
        let found = self.post("element", &json!({"using": "css selector", "value": selector}));
        let id = found
            .as_object()
            .and_then(|found| found.values().next())
            .and_then(Value::as_str)
            .unwrap();
        // The bar at the top stays where it is, and would take a click on what lies under it.
        let centre = "arguments[0].scrollIntoView({block: 'center'})";
        self.post("execute/sync", &json!({"script": centre, "args": [found]}));
        self.post(&format!("element/{id}/click"), &json!({}));
    }

    /// Presses keys, one after the other: characters, or `Tab`, `Enter` ... by [`key`].
    pub(crate) fn press(&self, keys: &[char]) {
        let actions: Vec<Value> = keys
            .iter()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|way| json!({"type": way, "value": key.to_string()}))
            })
            .collect();
        self.post(
            "actions",
            &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}),
        );
    }

    /// Messages of the page's console since the last time: level and message. Chromium loads pages
    /// of its own in advance, and where there is no network they complain of it.
    pub(crate) fn console(&self) -> Vec<(String, String)> {
        let lines = self.post("se/log", &json!({"type": "browser"}));
        let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        lines
            .as_array()
            .unwrap()
            .iter()
            .map(|line| (text(line, "level"), text(line, "message")))
            .filter(|(_, message)| !message.starts_with("chrome://"))
            .collect()
    }

    /// A window so wide, in CSS pixels.
    pub(crate) fn width(&self, pixels: u32) {
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            &json!({
                "width": pixels,
                "height": 800,
                "deviceScaleFactor": 1,
                "mobile": pixels < 600
            }),
        );
    }

    /// `light` or `dark`, or the medium `print`.
    pub(crate) fn scheme(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", &json!({"media": "", "features": features}));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Closes the browser; the driver is ended after it.
        let _ = try_request(self.port, "DELETE", &format!("/session/{}", self.session), &json!({}));
    }
}

/// Keys that are no characters (WebDriver, section 17.4.2).
pub(crate) mod key {
    pub(crate) const TAB: char = '\u{e004}';
    pub(crate) const ENTER: char = '\u{e007}';
    pub(crate) const DOWN: char = '\u{e015}';
    pub(crate) const RIGHT: char = '\u{e014}';
}

fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    })
}

fn request(port: u16, method: &str, path: &str, body: &Value) -> Value {
    try_request(port, method, path, body)
        .unwrap_or_else(|error| panic!("chromedriver, {method} {path}: {error}"))
}

/// The `value` of the answer.
fn try_request(port: u16, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(std::io::Error::other)?;
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    let answer: Value = serde_json::from_slice(&bytes)?;
    Ok(answer["value"].clone())
}
