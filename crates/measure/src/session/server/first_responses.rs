//! The first response of each state, and rows for the states that answer otherwise.

use std::time::{Duration, Instant};

use super::super::steps::{Steps, go_on};
use super::options::ServerOptions;
use super::{mix, starting};
use zc_load::Fetched;
use zc_run::{
    Error, ErrorKind, ResponseFacts, Result, ServerState, Support, SupportRow, Unavailable,
};
use zc_servers::{Asker, Served};

/// The states with their first responses, and rows for those that answer otherwise.
#[derive(Default)]
pub(super) struct FirstResponses {
    pub(super) states: Vec<ServerState>,
    pub(super) unavailable: Vec<SupportRow>,
}

/// The row of a state that does not answer as it should.
pub(super) fn no_answer(state: String, error: Error) -> SupportRow {
    let support = Support::No(Unavailable::failed(error.message));
    SupportRow { what: "cell".to_owned(), name: state, support }
}

/// Checks that there is a state to compare with the first.
///
/// # Errors
/// [`ErrorKind::Remote`]: no other one answers.
pub(super) fn one_to_compare(states: &[ServerState], unavailable: &[SupportRow]) -> Result<()> {
    if states.len() > 1 {
        return Ok(());
    }
    let each = unavailable.iter().filter_map(|row| match &row.support {
        Support::No(no) => Some(format!("; {}: {}", row.name, no.reason)),
        _ => None,
    });
    let message =
        format!("no state but the first answers as it should{}", each.collect::<String>());
    Err(Error::remote("no-other-state-answers", message))
}

/// Asks once in every state, as soon as the server answers at all.
pub(super) fn first_responses(
    options: &ServerOptions,
    load: &Asker,
    served: &mut Served,
    steps: &mut Steps<'_>,
) -> Result<FirstResponses> {
    let mut first = FirstResponses::default();
    // By then the others have to listen: they are started with the first, and share its CPU.
    let mut late = Instant::now();
    for (origin, each) in options.states.iter().enumerate() {
        steps.enter_state(Some(&each.state))?;
        steps.say(&format!("first request in state {}", each.state));
        let response = match &options.mix {
            None => {
                let fetched = as_soon_as_it_answers(options, served, steps, || load.fetch(origin))?;
                response(fetched.usable()?)?
            }
            // Of the first state it is an error.
            Some(mix) if origin == 0 => {
                as_soon_as_it_answers(options, served, steps, || load.check(origin))?;
                late = Instant::now() + options.start_limit / 2;
                mix::response(mix)
            }
            Some(mix) => match once_it_listens(load, origin, late, served, steps) {
                Ok(()) => mix::response(mix),
                Err(error) => {
                    go_on(steps.stop)?;
                    first.unavailable.push(no_answer(each.state.to_string(), error));
                    continue;
                }
            },
        };
        first.states.push(ServerState {
            state: each.state.clone(),
            url: each.url.clone(),
            response,
        });
    }
    if options.mix.is_some() {
        one_to_compare(&first.states, &first.unavailable)?;
    }
    Ok(first)
}

/// Checks the responses of a state that has until `late` to listen.
///
/// # Errors
/// It does not answer as it should.
fn once_it_listens(
    load: &Asker,
    origin: usize,
    late: Instant,
    served: &mut Served,
    steps: &Steps<'_>,
) -> Result<()> {
    // What does not listen may still do so; what answers wrongly stays wrong.
    let attempt = || match load.check(origin) {
        Err(error) if error.id == "cannot-connect" => Err(error),
        answered => Ok(answered),
    };
    let patience = late.saturating_duration_since(Instant::now());
    starting::as_soon_as_it_answers(patience, served, steps, attempt)?
}

/// Does what needs an answer of the server, which may still be starting.
pub(super) fn as_soon_as_it_answers<T>(
    options: &ServerOptions,
    served: &mut Served,
    steps: &Steps<'_>,
    attempt: impl Fn() -> Result<T>,
) -> Result<T> {
    // Who does nothing to the server has nothing to wait for.
    let waits = options.serve.is_some() || options.commands.is_some();
    let limit = if waits { options.start_limit } else { Duration::ZERO };
    // Only an attempt's own error is about what the server may not listen to.
    let attempted = || {
        attempt().map_err(|error| match (&options.serve, error.kind) {
            (Some(_), ErrorKind::Remote) => unanswered(error, limit),
            _ => error,
        })
    };
    starting::as_soon_as_it_answers(limit, served, steps, attempted)
}

/// The response, if costs can be measured with it.
fn response(fetched: Fetched) -> Result<ResponseFacts> {
    if fetched.body_bytes == 0 {
        return Err(Error::new(
            ErrorKind::Input,
            "empty-response",
            format!("the response of \"{}\" has no body", fetched.url),
        )
        .help("costs are per request and per byte: ask for a file that is not empty"));
    }
    Ok(ResponseFacts {
        status: fetched.status,
        body_bytes: fetched.body_bytes,
        crc32: fetched.crc32,
    })
}

fn unanswered(error: Error, limit: Duration) -> Error {
    let seconds = limit.as_secs();
    let help = format!(
        "the server must listen on the port of the URL within {seconds} s, on every address rather \
         than on 127.0.0.1: requests come over the link"
    );
    Error { help: None, ..error }.help(help)
}
