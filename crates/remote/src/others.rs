//! Receivers that are not zc: an iperf3 server, which reports its getrusage figure, and a discard
//! port, which reports nothing. The sender's cost is measured all the same.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use zc_iperf3::{Test, settle};
use zc_kernel::tcp;
use zc_rig::trial::{Limit, RecvConfig, RemoteEnded, RemoteSide, SentFlow, Target, TrialError};
use zc_run::{Error, ErrorKind, RemoteReport, Result};

/// Time allowed to the receiver for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// An unmodified iperf3 server. Each trial is a test of its own.
#[derive(Debug)]
pub struct Iperf3 {
    to: SocketAddr,
    test: Option<Test>,
    limit: Limit,
}

impl Iperf3 {
    /// The server that listens at `to`.
    pub fn new(to: SocketAddr) -> Self {
        Self { to, test: None, limit: Limit::default() }
    }

    /// Checks that an iperf3 server at `to` accepts a test now, and returns the round-trip time in
    /// ns.
    ///
    /// # Errors
    /// There is none, or it is busy.
    pub fn greet(to: SocketAddr) -> Result<u64> {
        let test = Test::open(to, 1, PATIENCE).map_err(|error| error.kind(ErrorKind::Remote))?;
        Ok(u64::from(test.rtt_us()) * 1000)
    }
}

impl RemoteSide for Iperf3 {
    fn limit_to(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn expect(
        &mut self,
        flows: usize,
        _: RecvConfig,
    ) -> std::result::Result<Vec<Target>, TrialError> {
        let test = Test::open(self.to, flows, self.limit.within(PATIENCE))?;
        let target =
            Target { greeting: test.cookie().to_vec(), stays_open: true, ..Target::plain(self.to) };
        self.test = Some(test);
        Ok(vec![target; flows])
    }

    fn await_flows(&mut self) -> std::result::Result<(), TrialError> {
        self.test.as_mut().map_or(Ok(()), |test| Ok(test.running()?))
    }

    fn finish(
        &mut self,
        flows: &[SentFlow<'_>],
        seconds: f64,
    ) -> std::result::Result<RemoteEnded, TrialError> {
        let Some(test) = self.test.take() else { return Ok(RemoteEnded::default()) };
        let sockets: Vec<&TcpStream> = flows.iter().map(|flow| flow.socket).collect();
        let mut filled: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
        settle(&sockets, &mut filled, self.limit.within(PATIENCE))?;
        let report = test.end(&filled, seconds)?;
        let filling = filled.iter().sum::<u64>() - flows.iter().map(|flow| flow.bytes).sum::<u64>();
        Ok(RemoteEnded {
            // Its count may lack what its process had not read when the test ended, so the trial is
            // not checked against it.
            received_bytes: None,
            crc32: None,
            report: Some(RemoteReport {
                cpu_percent: report.cpu_percent,
                received_bytes: report.received_bytes.saturating_sub(filling),
                seconds: report.seconds,
            }),
        })
    }

    fn give_up(&mut self) {
        self.test = None; // closing its control connection ends the test there
    }
}

/// A port that discards bytes.
#[derive(Debug)]
pub struct Discard {
    to: SocketAddr,
    limit: Limit,
}

impl Discard {
    /// The discard port at `to`.
    pub fn new(to: SocketAddr) -> Self {
        Self { to, limit: Limit::default() }
    }
}

impl RemoteSide for Discard {
    fn limit_to(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn expect(
        &mut self,
        flows: usize,
        _: RecvConfig,
    ) -> std::result::Result<Vec<Target>, TrialError> {
        Ok(vec![Target { stays_open: true, ..Target::plain(self.to) }; flows])
    }

    fn await_flows(&mut self) -> std::result::Result<(), TrialError> {
        Ok(())
    }

    /// Ends the flows and waits until the receiving kernel has acknowledged everything. Whether a
    /// process has read it is unknown.
    fn finish(
        &mut self,
        flows: &[SentFlow<'_>],
        _: f64,
    ) -> std::result::Result<RemoteEnded, TrialError> {
        let until = Instant::now() + self.limit.within(PATIENCE);
        for flow in flows {
            let ended = flow.socket.shutdown(Shutdown::Write).and_then(|()| {
                let left = until.saturating_duration_since(Instant::now());
                if tcp::wait_acknowledged(flow.socket, left)? {
                    Ok(())
                } else {
                    Err(io::ErrorKind::TimedOut.into())
                }
            });
            ended.map_err(|error| {
                Error::os(format!("end a flow to the sink \"{}\"", self.to), error)
            })?;
        }
        Ok(RemoteEnded::default())
    }

    fn give_up(&mut self) {}
}
