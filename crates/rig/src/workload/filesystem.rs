//! The type of file system that a file is on, by the magic number that fstatfs(2) returns.

use std::fs::File;

/// `ext4`, `tmpfs` ...; the number in hexadecimal if it has no name here; `unknown` if fstatfs(2)
/// failed.
///
/// # References
/// statfs(2); include/uapi/linux/magic.h. ext2, ext3 and ext4 share a number.
pub(super) fn name(file: &File) -> String {
    match rustix::fs::fstatfs(file) {
        // The field is 32 or 64 bits wide, signed or not, by architecture; the numbers are all of
        // 32 bits.
        Ok(facts) => named(facts.f_type as u32),
        Err(_) => "unknown".to_owned(),
    }
}

fn named(magic: u32) -> String {
    let name = match magic {
        0x0000_ef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x0102_1994 => "tmpfs",
        0x8584_58f6 => "ramfs",
        0x794c_7630 => "overlayfs",
        0x2fc1_2fc1 => "zfs",
        0xf2f5_2010 => "f2fs",
        0xca45_1a4e => "bcachefs",
        0x7371_7368 => "squashfs",
        0xe0f5_e1e2 => "erofs",
        0x0000_6969 => "nfs",
        0xff53_4d42 | 0xfe53_4d42 => "cifs",
        0x00c3_6400 => "ceph",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        0x0000_4d44 => "vfat",
        0x2011_bab0 => "exfat",
        0x7366_746e => "ntfs3",
        0x9584_58f6 => "hugetlbfs",
        0x0000_9660 => "iso9660",
        0x0000_9fa0 => "proc",
        0x6265_6572 => "sysfs",
        other => return format!("0x{other:x}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_number_has_a_name_and_another_is_shown() {
        assert_eq!(named(0xef53), "ext4");
        assert_eq!(named(0xdead_beef), "0xdeadbeef");
    }

    #[test]
    fn proc_is_known_by_its_number() {
        assert_eq!(name(&File::open("/proc/self/stat").unwrap()), "proc");
    }
}
