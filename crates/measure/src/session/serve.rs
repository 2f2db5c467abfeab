//! `zc serve`: a server that listens and has one session at a time, and one that is started over a
//! stream.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use zc_kernel::stop::Stop;
use zc_remote::listener::Listener;
use zc_remote::secret::Secret;
use zc_remote::{self, DataPort, SessionEnd, stdio};
use zc_run::address::with_port;
use zc_run::{Error, Result};

pub use zc_remote::Duties;
pub use zc_remote::reject_log::ListenerEvent;

/// Time allowed to the client at the other end of the stream to send its token.
const PATIENCE: Duration = Duration::from_secs(30);

/// Addresses to listen on, and how clients authenticate.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The address and port to listen on.
    pub listen: SocketAddr,
    /// Port for data connections; `None`: the one above the listening port, or any other if that is
    /// taken.
    pub data_port: Option<u16>,
    /// Authentication of clients.
    pub admission: Admission,
    /// Whether the server ends with its first session.
    pub once: bool,
}

/// Authentication of clients.
#[derive(Debug, Clone)]
pub enum Admission {
    /// Not at all: only this machine can connect.
    Everybody,
    /// With this token.
    Token(Secret),
    /// With a token for one session, which is announced when it is made.
    OneTime,
}

/// Events of a server.
#[derive(Debug)]
pub enum ServeEvent {
    /// The server listens.
    Listening {
        /// Its address and port.
        at: SocketAddr,
    },
    /// The next session wants this token.
    Token {
        /// Address and port to connect to.
        at: SocketAddr,
        /// The token.
        word: String,
    },
    /// A session has begun.
    Began {
        /// Address of the client.
        peer: SocketAddr,
        /// Version of the client's zc.
        version: String,
    },
    /// The session has ended.
    Ended {
        /// Address of the client.
        peer: SocketAddr,
        /// Reason for the end, or the error that ended it.
        end: Result<SessionEnd>,
    },
    /// An event of the listener: connections that were not accepted.
    Listener(ListenerEvent),
}

fn listen(at: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(at).map_err(|error| {
        Error::os(format!("listen on \"{at}\""), error)
            .help("--listen ADDRESS:PORT takes another one; another `zc serve` may have this one")
    })
}

/// Serves one session after another until `stop` is set, or only the first one.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(options: &ServeOptions, stop: &Stop, tell: &mut dyn FnMut(ServeEvent)) -> Result<()> {
    let socket = listen(options.listen)?;
    let open = match &options.admission {
        Admission::Token(secret) => secret.clone(),
        Admission::Everybody | Admission::OneTime => Secret::open(),
    };
    let mut listener = Listener::new(socket, open)?;
    let at = listener.address()?;
    tell(ServeEvent::Listening { at });
    loop {
        if matches!(options.admission, Admission::OneTime) {
            let (secret, word) = Secret::one_time()?;
            listener.change_secret(secret);
            tell(ServeEvent::Token { at, word });
        }
        let Some(client) = listener.next(stop, &mut |event| tell(ServeEvent::Listener(event)))?
        else {
            return Ok(());
        };
        let peer = client.peer;
        tell(ServeEvent::Began { peer, version: client.version });
        let data = DataPort {
            at: with_port(client.local, options.data_port.unwrap_or(at.port().saturating_add(1))),
            or_another: options.data_port.is_none(),
            from: Some(peer),
        };
        let done = Stop::default();
        let end = std::thread::scope(|scope| {
            let session = std::thread::Builder::new().spawn_scoped(scope, || {
                let _done = SetOnDrop(&done); // also on a panic
                zc_remote::serve(client.connection, data, Duties::Usual, stop)
            });
            let session =
                session.map_err(|error| Error::os("start a thread for the session", error))?;
            let rejected =
                listener.turn_away(&done, &mut |event| tell(ServeEvent::Listener(event)));
            let end = session.join().unwrap_or_else(|_| {
                Err(Error::failed("thread-panicked", "the session's thread panicked"))
            });
            rejected.and(end)
        });
        tell(ServeEvent::Ended { peer, end });
        if options.once {
            return Ok(());
        }
    }
}

/// Sets a flag when it is dropped.
struct SetOnDrop<'a>(&'a Stop);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Serves one session over the stdin and stdout of this process.
///
/// # Errors
/// There is no zc at the other end.
pub fn serve_stdio(data_port: Option<u16>, duties: Duties, stop: &Stop) -> Result<()> {
    // A zc that was carried here was executed as /proc/self/fd/8, and would be shown as "8".
    let _ = rustix::thread::set_name(c"zc");
    let connection = stdio::welcome(stdio::connection()?, PATIENCE, stop)?;
    if duties == Duties::Runs {
        return zc_remote::errand::serve(connection, stop);
    }
    let any = |ip: IpAddr| SocketAddr::new(ip, data_port.unwrap_or(0));
    // IPv6 and IPv4 if the host has both.
    let six = any(IpAddr::from([0_u16; 8]));
    let at = if TcpListener::bind(six).is_ok() { six } else { any(IpAddr::from([0, 0, 0, 0])) };
    let data = DataPort { at, or_another: false, from: None };
    zc_remote::serve(connection, data, duties, stop).map(drop)
}
