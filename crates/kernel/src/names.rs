//! Addresses of hosts, and where names are looked up in a build that is linked statically with
//! glibc.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs as _};

use super::netlink::Devices;

/// The address that a text is, an IPv6 one with a zone perhaps (`fe80::1%eth0`, `fe80::1%2`: name
/// or index of an interface of this namespace); `None` if it is a name.
///
/// # Errors
/// - ENODEV: there is no interface of this name.
///
/// # References
/// RFC 4007, section 11
pub fn address(text: &str, port: u16) -> io::Result<Option<SocketAddr>> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Some(SocketAddr::new(address, port)));
    }
    let zoned = text.split_once('%');
    let Some((address, zone)) =
        zoned.and_then(|(address, zone)| Some((address.parse::<Ipv6Addr>().ok()?, zone)))
    else {
        return Ok(None);
    };
    let index = match zone.parse() {
        Ok(index) => index,
        Err(_) => Devices::open()?.find(zone)?.index,
    };
    Ok(Some(SocketAddrV6::new(address, port, 0, index).into()))
}

/// Addresses of a host: the literal address, if its text is one, or those from getaddrinfo(3).
///
/// # Errors
/// Errors of [`address`] and getaddrinfo(3).
#[doc(alias = "getaddrinfo")]
pub fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    match address(host, port)? {
        Some(address) => Ok(vec![address]),
        None => (host, port).to_socket_addrs().map(Iterator::collect),
    }
}

/// Makes getaddrinfo(3) look up host names in /etc/hosts and by DNS alone, whatever
/// /etc/nsswitch.conf says. To be called before there is a second thread.
///
/// glibc loads the other services that nsswitch.conf names as shared objects of the host, also into
/// a static program, and those work only with the glibc version that the program was linked with:
/// with another one it may crash. The two services are part of libc.a. Builds that are linked
/// dynamically, or with musl, are left as they are.
///
/// # Errors
/// - ENOMEM: no memory for the two names.
///
/// # References
/// - [nsswitch.conf(5)]
/// - `__nss_configure_lookup`, in glibc's `<nss.h>` and nss/nss_database.c
///
/// [nsswitch.conf(5)]: https://man7.org/linux/man-pages/man5/nsswitch.conf.5.html
#[doc(alias = "nsswitch")]
pub fn without_modules_of_the_host() -> io::Result<()> {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    {
        use std::ffi::{c_char, c_int};

        unsafe extern "C" {
            fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
        }
        // SAFETY: both are strings that end in a zero byte and live for ever; glibc copies what it
        // keeps. The declaration is that of <nss.h>.
        if unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_has_the_index_of_its_zone() {
        let lo = Devices::open().unwrap().find("lo").unwrap().index;
        for zone in ["lo".to_owned(), lo.to_string()] {
            let found = addresses(&format!("fe80::1%{zone}"), 80).unwrap();
            assert_eq!(found, [SocketAddrV6::new("fe80::1".parse().unwrap(), 80, 0, lo).into()]);
        }
        assert_eq!(addresses("192.0.2.1", 80).unwrap(), ["192.0.2.1:80".parse().unwrap()]);
        assert_eq!(address("host", 80).unwrap(), None);
        let missing = address("fe80::1%zc-no-such", 80).unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(libc::ENODEV));
    }

    // Whether a module is loaded is tried by dist/check, with the static program.
    #[test]
    fn names_of_the_hosts_file_are_found_without_modules() {
        let found = || ("localhost", 1).to_socket_addrs().map(Iterator::count);
        let Ok(before) = found() else {
            println!("skipped: /etc/hosts has no localhost");
            return;
        };
        without_modules_of_the_host().unwrap();
        assert_eq!(found().unwrap(), before);
    }
}
