//! iperf3's control connection: messages as a function of bytes, and the client over loopback.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use arbitrary::Arbitrary;
use serde_json::{Value, json};
use zc_iperf3::inbox::{Inbox, Lost};
use zc_iperf3::messages::Results;
use zc_iperf3::{Test, settle};

use crate::edits::Edit;
use crate::quarantine;

/// The longest message that is taken here.
const MOST_BYTES: usize = 1 << 16;

/// What one end sends, and what the other expects in turn.
#[derive(Debug, Clone, Arbitrary)]
pub struct Messages {
    sent: Vec<Sent>,
    taken: Vec<Taken>,
    pieces: Vec<u8>,
}

#[derive(Debug, Clone, Arbitrary)]
enum Sent {
    State(u8),
    Known(KnownState),
    Number(u32),
    Results(Vec<Edit>),
    /// A message whose length is another.
    Misannounced(u32, Vec<u8>),
    Bytes(Vec<u8>),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum KnownState {
    TestStart = 1,
    TestRunning = 2,
    TestEnd = 4,
    ParamExchange = 9,
    CreateStreams = 10,
    ServerTerminate = 11,
    ClientTerminate = 12,
    ExchangeResults = 13,
    DisplayResults = 14,
    IperfDone = 16,
    AccessDenied = 255,
    ServerError = 254,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Taken {
    State,
    Number,
    Results,
}

fn results() -> Value {
    json!({"cpu_util_total": 1.5, "cpu_util_user": 0.5, "cpu_util_system": 1,
        "sender_has_retransmits": -1, "congestion_used": "cubic", "streams": [{"id": 1,
        "bytes": 4096, "retransmits": -1, "jitter": 0, "errors": 0, "packets": 0, "start_time": 0,
        "end_time": 0.5}]})
}

impl Sent {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::State(state) => vec![*state],
            Self::Known(state) => vec![*state as u8],
            Self::Number(number) => number.to_be_bytes().to_vec(),
            Self::Results(edits) => message(results(), edits),
            Self::Misannounced(length, bytes) => [&length.to_be_bytes()[..], bytes].concat(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

fn message(mut value: Value, edits: &[Edit]) -> Vec<u8> {
    edits.iter().take(6).for_each(|edit| edit.apply(&mut value));
    let text = value.to_string();
    [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
}

/// What was taken of bytes, in words, so that two ways to it can be compared.
fn take(inbox: &mut Inbox, what: Taken) -> Result<Option<String>, Lost> {
    Ok(match what {
        Taken::State => inbox.take_state()?.map(|state| format!("{state:?}")),
        Taken::Number => inbox.take_number().map(|number| number.to_string()),
        Taken::Results => inbox.take_json::<Results>(MOST_BYTES)?.map(|results| {
            let bytes = results.streams.iter().map(|stream| stream.bytes());
            let _ = bytes.fold(0, u64::saturating_add);
            let _ = results.streams.iter().map(|stream| stream.seconds()).fold(0.0, f64::max);
            format!("{results:?}")
        }),
    })
}

impl Messages {
    /// However the bytes are cut when they arrive, the same is taken of them.
    pub fn check(&self) {
        let bytes: Vec<u8> = self.sent.iter().take(16).flat_map(Sent::bytes).collect();
        let mut whole = Inbox::default();
        whole.push(&bytes);
        let (mut piecewise, mut from) = (Inbox::default(), 0);
        let mut pieces = self.pieces.iter().map(|&size| usize::from(size) + 1);
        for &what in self.taken.iter().take(24) {
            let left = whole.len();
            let expected = take(&mut whole, what);
            assert!(whole.len() <= left);
            let found = loop {
                let found = take(&mut piecewise, what);
                if !matches!(found, Ok(None)) || from == bytes.len() {
                    break found;
                }
                let to = (from + pieces.next().unwrap_or(4096)).min(bytes.len());
                piecewise.push(&bytes[from..to]);
                from = to;
            };
            match (expected, found) {
                (Ok(expected), Ok(found)) => assert_eq!(expected, found),
                (Err(expected), Err(found)) => {
                    assert_eq!(expected.to_string(), found.to_string());
                    return; // the connection is given up
                }
                (expected, found) => panic!("{expected:?} of the whole, {found:?} of pieces"),
            }
        }
    }
}

/// A server that says what it likes to zc's client.
#[derive(Debug, Clone, Arbitrary)]
pub struct Server {
    /// Whether the first states are those of a server that takes the test.
    agrees: bool,
    sent: Vec<Sent>,
    streams: u8,
}

/// Longer than anything takes on a loaded machine, except what never comes.
const PATIENCE: Duration = Duration::from_millis(200);

impl Server {
    /// The client opens a test, runs it and ends it, or says what the server did wrong.
    pub fn check(&self) {
        static SERVER: OnceLock<Mutex<(SocketAddr, Sender<Vec<u8>>)>> = OnceLock::new();
        let server = SERVER.get_or_init(|| {
            quarantine::enter();
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("a port");
            let (said, says) = channel();
            std::thread::spawn(move || answer_each(&listener, &says));
            Mutex::new((address, said))
        });
        let (address, said) = &*server.lock().expect("one input at a time");
        let mut bytes = if self.agrees { vec![9, 10, 1, 2, 13] } else { Vec::new() };
        bytes.extend(self.sent.iter().take(16).flat_map(Sent::bytes));
        said.send(bytes).expect("the server waits");
        let streams = usize::from(self.streams % 4);
        let patience = if self.agrees { PATIENCE } else { Duration::from_millis(5) };
        let test = Test::open(*address, streams, patience);
        let Ok(mut test) = test else { return };
        if let Err(error) = test.running() {
            assert!(error.message.starts_with("iperf3 server \""), "{error}");
            return;
        }
        let sent = vec![4096; streams];
        match test.end(&sent, 0.5) {
            Ok(report) => assert!(report.seconds >= 0.0 || report.seconds.is_nan()),
            Err(error) => assert!(error.message.starts_with("iperf3 server \""), "{error}"),
        }
        drop(settle(&[] as &[TcpStream], &mut [], Duration::ZERO));
    }
}

/// To each connection, the newest bytes that are to be said, and an end.
fn answer_each(listener: &TcpListener, says: &Receiver<Vec<u8>>) {
    let mut bytes = Vec::new();
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        while let Ok(newer) = says.try_recv() {
            bytes = newer;
        }
        drop(stream.write_all(&bytes));
        drop(stream.shutdown(Shutdown::Write));
        drop(stream.set_read_timeout(Some(Duration::from_secs(1))));
        // Until the client is done; its port is free at once then.
        drop(stream.read_to_end(&mut Vec::new()));
        let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    }
}
