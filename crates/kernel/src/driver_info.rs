//! Information from the driver of a network device (`ethtool -i`): its firmware. Netlink has no
//! message for it, so this is the old request, by ioctl(2).
//!
//! # References
//! - Linux, include/uapi/linux/ethtool.h: `struct ethtool_drvinfo`
//! - Linux, net/ethtool/ioctl.c, `ethtool_get_drvinfo`

use std::ffi::c_char;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

// include/uapi/linux/ethtool.h
const ETHTOOL_GDRVINFO: u32 = 3;

/// `struct ethtool_drvinfo`.
#[repr(C)]
#[derive(Default)]
struct DriverInfo {
    cmd: u32,
    driver: [u8; 32],
    version: [u8; 32],
    fw_version: [u8; 32],
    bus_info: [u8; 32],
    erom_version: [u8; 32],
    reserved2: [u8; 12],
    n_priv_flags: u32,
    n_stats: u32,
    testinfo_len: u32,
    eedump_len: u32,
    regdump_len: u32,
}

/// Version of the firmware of `device`, a name of the calling thread's network namespace, as its
/// driver writes it: `16.35.4030 (MT_0000000008)`. Empty if the driver names none, as those of
/// virtual devices; some write `N/A`.
///
/// # Errors
/// - ENODEV: there is no such device.
/// - EOPNOTSUPP: the device has no driver that answers, such as `lo`.
/// - EINVAL: the name has 16 bytes or more.
///
/// # References
/// - [netdevice(7)]
/// - [include/uapi/linux/ethtool.h]
///
/// [netdevice(7)]: https://man7.org/linux/man-pages/man7/netdevice.7.html
/// [include/uapi/linux/ethtool.h]:
///   https://github.com/torvalds/linux/blob/master/include/uapi/linux/ethtool.h
#[doc(alias = "ioctl")]
#[doc(alias = "SIOCETHTOOL")]
#[doc(alias = "ETHTOOL_GDRVINFO")]
pub fn firmware(device: &str) -> io::Result<String> {
    let mut info = DriverInfo { cmd: ETHTOOL_GDRVINFO, ..DriverInfo::default() };
    let mut name: [c_char; libc::IFNAMSIZ] = [0; libc::IFNAMSIZ];
    if device.len() >= name.len() {
        return Err(rustix::io::Errno::INVAL.into());
    }
    for (into, byte) in name.iter_mut().zip(device.bytes()) {
        *into = byte as c_char;
    }
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut info).cast() },
    };
    // SAFETY: the request is a `struct ifreq` whose name ends in a zero byte, and its data are a
    // `struct ethtool_drvinfo`, which is what the kernel reads and writes for ETHTOOL_GDRVINFO.
    // Both are on this stack and outlive the call; the kernel keeps no pointer.
    let done = unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let text = info.fw_version.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_structure_has_196_bytes() {
        assert_eq!(size_of::<DriverInfo>(), 196);
    }

    #[test]
    fn lo_has_no_firmware() {
        match firmware("lo") {
            Ok(found) => assert!(found.is_empty() || found == "N/A", "{found}"),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP)),
        }
    }

    #[test]
    fn a_virtual_device_s_driver_answers_without_a_firmware() {
        // In a thread of its own, because a namespace belongs to a thread.
        std::thread::spawn(|| {
            if crate::netns::NetNs::unshare().is_err() {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            }
            let devices = crate::netlink::Devices::open().unwrap();
            let here = crate::netns::NetNs::current().unwrap();
            devices.make_veth("zc0", "zc1", std::os::fd::AsFd::as_fd(&here)).unwrap();
            assert_eq!(firmware("zc0").unwrap(), "");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_device_that_is_not_there_is_enodev_and_a_name_that_is_too_long_is_einval() {
        assert_eq!(firmware("zc-no-such").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        let error = firmware("a-name-of-16-byt").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
