//! `zc serve`: the far end that waits to be called, one session at a time, and the one that somebody started over a stream.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::agent::listener::Listener;
use crate::agent::secret::Secret;
use crate::agent::{self, DataPort, SessionEnd, iperf3, stdio};
use zc_run::{Error, Result};

pub use crate::agent::iperf3::Event as Iperf3Event;
pub use crate::agent::reject_log::ListenerEvent;

/// How long whoever started this over a stream may take to say its token.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who may call, and where.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The address and port to listen on.
    pub listen: SocketAddr,
    /// Where flows arrive; `None`: the port above the one it listens on, or another when that is taken.
    pub data_port: Option<u16>,
    /// What callers have to show.
    pub admission: Admission,
}

/// What callers have to show.
#[derive(Debug, Clone)]
pub enum Admission {
    /// Nothing: only this machine can call.
    Everybody,
    /// This token.
    Token(Secret),
    /// A token that opens one session, and is told when it is made.
    OneTime,
}

/// What happens while it serves.
#[derive(Debug)]
pub enum ServeEvent {
    /// It listens.
    Listening {
        /// Where.
        at: SocketAddr,
    },
    /// The next session wants this token.
    Token {
        /// Where to call.
        at: SocketAddr,
        /// What to show.
        word: String,
    },
    /// Somebody has come in.
    Began {
        /// Who.
        peer: SocketAddr,
        /// With which zc.
        version: String,
    },
    /// And is gone again.
    Ended {
        /// Who.
        peer: SocketAddr,
        /// Why.
        end: Result<SessionEnd>,
    },
    /// Somebody has not come in.
    Listener(ListenerEvent),
}

/// Serves iperf3 clients until `stop` is raised. `reject_log` hears where it listens, and then what happens.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve_iperf3(
    listen: SocketAddr,
    stop: &AtomicBool,
    listening: impl FnOnce(SocketAddr),
    tell: &mut dyn FnMut(iperf3::Event),
) -> Result<()> {
    let listener = self::listen(listen)?;
    listening(listener.local_addr().map_err(|error| Error::os("ask for a port", error))?);
    iperf3::serve(listener, stop, iperf3::Limits::default(), tell)
}

fn listen(at: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(at).map_err(|error| {
        Error::os(format!("listen on \"{at}\""), error)
            .help("--listen ADDRESS:PORT takes another one; another `zc serve` may have this one")
    })
}

/// Serves one session after the other until `stop` is raised.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(
    options: &ServeOptions,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(ServeEvent),
) -> Result<()> {
    let listener = listen(options.listen)?;
    let open = match &options.admission {
        Admission::Token(secret) => secret.clone(),
        Admission::Everybody | Admission::OneTime => Secret::open(),
    };
    let mut door = Listener::new(listener, open)?;
    let at = door.address()?;
    tell(ServeEvent::Listening { at });
    loop {
        if matches!(options.admission, Admission::OneTime) {
            let (secret, word) = Secret::one_time()?;
            door.change_secret(secret);
            tell(ServeEvent::Token { at, word });
        }
        let Some(client) = door.next(stop, &mut |event| tell(ServeEvent::Listener(event)))? else {
            return Ok(());
        };
        let peer = client.peer;
        tell(ServeEvent::Began { peer, version: client.version });
        let data = DataPort {
            at: SocketAddr::new(
                client.local.ip(),
                options.data_port.unwrap_or(at.port().saturating_add(1)),
            ),
            or_another: options.data_port.is_none(),
        };
        let done = AtomicBool::new(false);
        let end = std::thread::scope(|scope| {
            let session = scope.spawn(|| {
                let _raised = RaiseOnDrop(&done); // however it ends
                agent::serve(client.connection, data, stop)
            });
            let turned_away = door.turn_away(&done, &mut |event| tell(ServeEvent::Listener(event)));
            let end =
                session.join().unwrap_or_else(|_| Err(Error::failed("the session's thread died")));
            turned_away.and(end)
        });
        tell(ServeEvent::Ended { peer, end });
    }
}

/// Raises a flag when it goes.
struct RaiseOnDrop<'a>(&'a AtomicBool);

impl Drop for RaiseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Serves the one session of whoever started this process with a stream at its stdin and stdout.
///
/// # Errors
/// No zc is at the other end of it.
pub fn serve_stdio(data_port: Option<u16>, stop: &AtomicBool) -> Result<()> {
    let connection = stdio::welcome(stdio::connection()?, PATIENCE)?;
    let everywhere = |ip: IpAddr| SocketAddr::new(ip, data_port.unwrap_or(0));
    // Both versions of IP where there are two.
    let six = everywhere(IpAddr::from([0_u16; 8]));
    let at =
        if TcpListener::bind(six).is_ok() { six } else { everywhere(IpAddr::from([0, 0, 0, 0])) };
    agent::serve(connection, DataPort { at, or_another: false }, stop).map(drop)
}
