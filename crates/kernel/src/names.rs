//! Where host names are looked up, in a build that is linked statically with glibc.

use std::io;

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
    use std::net::ToSocketAddrs as _;

    use super::*;

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
