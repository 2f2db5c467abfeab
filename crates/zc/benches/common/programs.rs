//! Other programs: where they are, and starting and stopping their servers.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Finds a program in the folders of `ZC_PEERS` and of `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var("ZC_PEERS").unwrap_or_default()
        + ":"
        + &std::env::var("PATH").unwrap_or_default();
    folders.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// A port of 127.0.0.1 that was free a moment ago.
pub(crate) fn free_port() -> String {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("a port")
        .port()
        .to_string()
}

/// Starts a server that does not say when it listens.
pub(crate) fn start(command: &mut Command) -> Option<Child> {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok();
    std::thread::sleep(Duration::from_millis(300));
    child
}

/// Starts an iperf3 server on a CPU, for one client.
pub(crate) fn start_iperf3(iperf3: &Path, port: &str, cpu: usize) -> Option<Child> {
    start(Command::new(iperf3).args(["-s", "-1", "-p", port, "-A", &cpu.to_string()]))
}

/// Stops it.
pub(crate) fn stop(child: Option<Child>) {
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
}
