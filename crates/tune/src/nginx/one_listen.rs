//! The `listen` of a copy: one port, with the parameters of the site's.

use super::change;
use super::listen;
use super::tree::{Config, Directive};
use crate::Change;
use crate::copy::Shadow;
use crate::site::Site;

/// Parameters that are about the address, or that zc's load does not speak.
const NOT_OF_A_COPY: [&str; 9] = [
    "accept_filter",
    "bind",
    "default",
    "default_server",
    "fastopen",
    "ipv6only",
    "proxy_protocol",
    "quic",
    "setfib",
];

/// The `listen`, and sentences about what it lacks. Options of the socket that another server sets
/// for the same address are the site's, too.
pub(super) fn listen(
    config: &Config,
    site: &Site,
    shadow: &Shadow,
    changes: &[&Change],
) -> (Directive, Vec<String>) {
    let listens = config.server(site).map(|server| change::listens(server, site.scheme));
    let listen = listens.unwrap_or_default().into_iter().next();
    let mut args = vec![format!("0.0.0.0:{}", shadow.port)];
    let mut said = Vec::new();
    if let Some(listen) = listen {
        args.extend_from_slice(listen::parameters(listen));
        let owner = change::owner(config, listen);
        if owner.id != listen.id {
            let of_owner = listen::parameters(owner).iter();
            args.extend(of_owner.filter(|parameter| listen::is_of_the_socket(parameter)).cloned());
        }
        for left_out in ["proxy_protocol", "fastopen"] {
            if args.iter().any(|arg| listen::name(arg) == left_out) {
                let position = listen.position();
                said.push(format!(
                    "\"{left_out}\" of its listen ({position}) is left out: zc's load does not \
                     use it"
                ));
            }
        }
    }
    let args = change::parameters(&args, changes);
    let is_kept = |arg: &String| !NOT_OF_A_COPY.contains(&listen::name(arg));
    (Directive::new("listen", args.into_iter().filter(is_kept)), said)
}
