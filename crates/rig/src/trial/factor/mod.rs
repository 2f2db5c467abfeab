//! Effects of factors on a trial: one file for each factor that needs code.
//!
//! Each implements the hooks of [`Effect`] that it needs; the trial calls the hooks of all. A
//! factor that sets one TCP option of the sender needs no file: its definition in `zc-run` names
//! the option ([`zc_run::factor::Definition::tcp_option`]). `flows`, `rate`, `recv` and `send` are
//! parameters of every trial, and `mtu`, `offloads`, `gso-max` and `layer` choose its link
//! (`trial::links`).

mod align;
mod clients;
mod congestion;
mod effect;
mod gso_max;
mod head;
mod layer;
mod message;
mod pages;
mod placement;
mod proxy;
mod push;
mod sockbuf;
mod tcp_options;

pub(super) use effect::Effect;
pub(super) use tcp_options::{option_of_streams, set_tcp_options};

/// All effects; a trial calls a hook of each in this order.
pub(super) const EFFECTS: [&dyn Effect; 12] = [
    &placement::Placement,
    &message::Message,
    &sockbuf::Sockbuf,
    &push::Push,
    &align::Align,
    &pages::Pages,
    &gso_max::GsoMax,
    &layer::LayerEffect,
    &head::Head,
    &congestion::Congestion,
    &proxy::Proxy,
    &clients::Clients,
];
