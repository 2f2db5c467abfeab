//! Flows to many paced clients: one thread sends to all of them and one receives for all, each with
//! epoll(7) over sockets that do not block. The kernel paces each connection (SO_MAX_PACING_RATE),
//! so nothing in this process sleeps between bursts.

mod accepting;
mod access_line;
mod connecting;
mod poller;
mod receiving;
mod sending;
mod timing;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender as Outbox, channel};

use super::cell_config::CellConfig;
use super::flow::{Flow, Sink};
use super::receiving::listen;
use super::sending::{SendConfig, SenderReady, Sending, Target};
use super::worker::{Published, Ready, TrialError, await_message, pin_to, spawn};
use crate::link::Link;
use accepting::Ports;
use zc_run::Clients;

pub(super) use sending::FILES_APART;
pub(super) use timing::{at_least, weight};

/// Connects the clients of a trial, and opens both ends. Nothing is sent before
/// [`Flow::begin`].
pub(super) fn open(
    clients: Clients,
    config: &Arc<CellConfig>,
    link: &Arc<dyn Link>,
    send_config: SendConfig,
) -> std::result::Result<Flow, TrialError> {
    let (stop, given_up) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let limit = config.limit.clone();
    let still_wanted = || limit.check();
    let (crc32, used, ports) =
        (Arc::new(Published::default()), Arc::new(Published::default()), Arc::<Ports>::default());
    let (receiver, target) = match send_config.ack_generator(&**link) {
        Some(generator) => (None, Target::plain(generator.address())),
        None => {
            let (address_out, address_in) = channel();
            let (on_link, crc32, ports) =
                (Arc::clone(link), Arc::clone(&crc32), Arc::clone(&ports));
            let (given_up, rcvbuf_bytes) = (Arc::clone(&given_up), config.fixed.rcvbuf_bytes);
            let how = config.recv_config(send_config.checksum, None);
            let spawned = spawn("zc-recv-0".to_owned(), move |ready: &Outbox<Ready>, counts| {
                pin_to(&how.cpus)?;
                on_link.enter_receiver()?;
                let listener = listen((on_link.receiver_address(), 0).into(), rcvbuf_bytes)?;
                let address = listener.local_addr();
                let _ = address_out
                    .send(address.map_err(|error| zc_run::Error::os("ask for a port", error))?);
                let sockets = accepting::accept(&listener, &ports, clients.count, &given_up)?;
                send_config.priority.take()?;
                receiving::receive(sockets, &how, ready, counts, &crc32, &given_up)
            })?;
            let what = "the receiver to listen";
            let address = await_message(&address_in, &spawned.0.done, what, &still_wanted)?;
            (Some(spawned), Target::plain(address))
        }
    };
    let (begin, begin_in) = channel();
    let (sender, sender_ready) = {
        let (config, link, ports) = (Arc::clone(config), Arc::clone(link), Arc::clone(&ports));
        let (stop, used) = (Arc::clone(&stop), Arc::clone(&used));
        spawn("zc-send-0".to_owned(), move |ready: &Outbox<SenderReady>, counts| {
            let (config, link, to) = (&*config, &*link, &target);
            let what = Sending { index: 0, config, link, send_config, to, receiver: None };
            sending::send(&what, clients, &ports, &begin_in, &stop, ready, counts, &used)
        })?
    };
    let what = "the sender to connect its clients";
    let sender_ready = await_message(&sender_ready, &sender.done, what, &still_wanted)
        .inspect_err(|_| given_up.store(true, Ordering::Relaxed))?;
    let sink = match receiver {
        Some((receiver, ready)) => {
            let what = "the receiver to accept all clients";
            let ready = await_message(&ready, &receiver.done, what, &still_wanted)
                .inspect_err(|_| given_up.store(true, Ordering::Relaxed))?;
            Sink::Thread(receiver.into_worker(ready))
        }
        None => Sink::Noted(sender_ready.noted),
    };
    Ok(Flow {
        link: Arc::clone(link),
        sender: sender.into_worker(sender_ready.ready),
        sink,
        proxy: None,
        crc32,
        used,
        begin,
        stop,
        given_up,
        limit,
        is_decrypted: false,
    })
}
