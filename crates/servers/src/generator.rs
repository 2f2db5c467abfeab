//! A load generator that is not zc's: it is started for each trial, and asks until that ends.
//!
//! zc does not see its requests. It counts responses by the bytes that the server has sent: those
//! of the link's device, less the headers of packets, divided by what a response to zc's own load
//! took on the same link. A generator that asks for something else (compressed, over HTTP/2) gets
//! responses of another size, and is miscounted by the same factor in every state.
//!
//! One process that is stopped and goes on would be cheaper to have. But a generator that keeps to
//! a schedule sends all that it missed when it goes on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::asked_for::AskedFor;
use super::kept::{Kept, Wanted};
use zc_kernel::clock::monotonic_ns;
use zc_load::{HttpCounts, Latencies, Load};
use zc_rig::link::Link;
use zc_run::{Error, LinkCounters, Result};

/// Placeholder for a state's URL in the words of a generator's command.
pub const URL: &str = "{url}";

/// Time allowed to a generator until the first response to it.
pub(super) const START_LIMIT: Duration = Duration::from_secs(10);

/// Time between two looks at whether one has come.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// A generator that has not ended this long after SIGTERM is killed.
pub(super) const PATIENCE: Duration = Duration::from_millis(200);

/// Bytes of a packet on a veth device that are not payload: Ethernet, IPv4, and TCP with its
/// timestamps. A packet that the device is to segment counts once, and has them once.
const HEADERS: u64 = 14 + 20 + 32;

/// Bytes of TCP payload that the server's side of the link has sent.
fn payload(counters: &LinkCounters) -> u64 {
    counters.tx_bytes.saturating_sub(counters.tx_packets * HEADERS)
}

/// The generator's command, and zc's own load, which tells how large a response is, and what the
/// server can do.
pub struct Generator {
    load: Arc<Load>,
    link: Arc<dyn Link>,
    words: Vec<String>,
    /// In the order of the load's origins.
    urls: Vec<String>,
    cpu: usize,
    now: Mutex<Now>,
}

/// The current activity, and what is known of each origin's responses.
#[derive(Default)]
struct Now {
    running: Option<Running>,
    /// The origin that zc's own load asks, and what had been sent before.
    own: Option<(usize, u64)>,
    responses: Vec<Option<Response>>,
}

struct Running {
    kept: Kept,
    /// Bytes sent before it was started.
    before: u64,
    response: Response,
}

/// The mean response to zc's own load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Response {
    /// Bytes of payload: head, body, and what TLS adds.
    sent: f64,
    body: f64,
}

impl Response {
    /// The mean of a phase; `None` without responses.
    fn mean(sent: u64, responses: u64, body_bytes: u64) -> Option<Self> {
        let count = responses as f64;
        let each = Self { sent: sent as f64 / count, body: body_bytes as f64 / count };
        (responses > 0 && each.sent > 0.0 && each.body > 0.0).then_some(each)
    }

    /// Number of responses in `sent` bytes. The sent part of a response that is on its way counts.
    fn counts(&self, sent: u64) -> HttpCounts {
        let responses = sent as f64 / self.sent;
        HttpCounts {
            responses: responses.round() as u64,
            body_bytes: (responses * self.body) as u64,
            ..HttpCounts::default()
        }
    }
}

impl Generator {
    /// A generator that `words` start on `cpu`, on the receiver's side of the link, with each of
    /// `urls` in place of [`URL`].
    pub fn new(
        load: Arc<Load>,
        link: Arc<dyn Link>,
        words: Vec<String>,
        urls: Vec<String>,
        cpu: usize,
    ) -> Self {
        let now = Now { responses: vec![None; urls.len()], ..Now::default() };
        Self { load, link, words, urls, cpu, now: Mutex::new(now) }
    }

    /// zc's own load on the same link.
    pub(super) fn load(&self) -> &Load {
        &self.load
    }

    /// zc's own load is about to ask `origin`: what it is sent tells how large responses are.
    ///
    /// # Errors
    /// The link's counters cannot be read.
    pub(super) fn own_load_begins(&self, origin: usize) -> Result<()> {
        let before = payload(&self.link.counters()?);
        self.now().own = Some((origin, before));
        Ok(())
    }

    /// zc's own load has got so many responses, and all that it asked for.
    ///
    /// # Errors
    /// The link's counters cannot be read.
    pub(super) fn own_load_ended(&self, responses: u64, body_bytes: u64) -> Result<()> {
        let Some((origin, before)) = self.now().own.take() else { return Ok(()) };
        let sent = payload(&self.link.counters()?).saturating_sub(before);
        if let Some(response) = Response::mean(sent, responses, body_bytes) {
            self.now().responses[origin] = Some(response);
        }
        Ok(())
    }

    /// Starts the generator, and returns once the first response has come, with that time by
    /// CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// The server's answer has become another; the generator cannot be started, has ended, or gets
    /// no response.
    pub(super) fn go(&self, origin: usize) -> Result<u64> {
        let response = self.now().responses[origin];
        let response = response.ok_or_else(|| {
            Error::failed("response-size-unknown", "how large a response is was not measured")
        })?;
        // What the generator is answered is not seen. A server that fails is.
        let fetched = self.load.fetch(origin)?.usable()?;
        if (fetched.body_bytes as f64 - response.body).abs() >= 0.5 {
            return Err(Error::failed(
                "response-size-changed",
                format!(
                    "the response has {} bytes now, and had {:.0}",
                    fetched.body_bytes, response.body
                ),
            ));
        }
        let before = payload(&self.link.counters()?);
        let mut kept = Kept::start(self.wanted(origin), || self.link.enter_receiver())?;
        let until = Instant::now() + START_LIMIT;
        while ((payload(&self.link.counters()?) - before) as f64) < response.sent {
            kept.check()?;
            if Instant::now() >= until {
                return Err(Error::failed(
                    "server-silent",
                    format!(
                        "the load generator got no response within {} s",
                        START_LIMIT.as_secs()
                    ),
                )
                .help(format!("it is: {}", kept.command())));
            }
            std::thread::sleep(LOOK);
        }
        let begin_ns = monotonic_ns();
        kept.find_processes();
        self.now().running = Some(Running { kept, before, response });
        Ok(begin_ns)
    }

    /// Ends the generator, if it runs, and says what was sent to it.
    ///
    /// # Errors
    /// It had ended before.
    pub(super) fn end(&self) -> Option<Result<AskedFor>> {
        let Running { mut kept, before, response } = self.now().running.take()?;
        let sent = self.link.counters().map(|counters| payload(&counters).saturating_sub(before));
        Some(kept.check().and(sent).map(|sent| {
            let HttpCounts { responses, body_bytes, .. } = response.counts(sent);
            AskedFor {
                responses_per_s: None,
                responses,
                body_bytes,
                fault: None,
                latency: Latencies::default(),
            }
        }))
    }

    /// Responses sent to the running generator; `None` if none runs.
    pub(super) fn counts(&self) -> Option<HttpCounts> {
        let now = self.now();
        let running = now.running.as_ref()?;
        let sent = self.link.counters().map_or(0, |counters| payload(&counters));
        Some(running.response.counts(sent.saturating_sub(running.before)))
    }

    /// CPU time of the generator that runs; `None` if none does.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        self.now().running.as_ref().map(|running| running.kept.cpu_ns())
    }

    fn wanted(&self, origin: usize) -> Wanted {
        let url = &self.urls[origin];
        Wanted {
            what: "the load generator".to_owned(),
            words: self.words.iter().map(|word| word.replace(URL, url)).collect(),
            cpus: vec![self.cpu],
            patience: PATIENCE,
            has_own_state: false,
        }
    }

    /// A panic while it was held leaves nothing half done that matters.
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_counted_by_the_payload_that_was_sent() {
        // Three packets of a response with a head of 250 bytes, and two acknowledgements.
        let counters = LinkCounters {
            tx_packets: 5,
            tx_bytes: 100_000 + 250 + 5 * 66,
            ..LinkCounters::default()
        };
        assert_eq!(payload(&counters), 100_250);
        let each = Response::mean(10 * 100_250, 10, 10 * 100_000).unwrap();
        let counts = each.counts(100_250 * 7 / 2);
        assert_eq!(
            (counts.responses, counts.body_bytes),
            (4, 350_000),
            "half of one is on its way"
        );
        assert_eq!(Response::mean(1, 0, 0), None);
    }
}
