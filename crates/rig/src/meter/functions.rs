//! The kernel's functions by address, from /proc/kallsyms, with those of modules and compiled BPF
//! programs.

use std::io::Read;

use zc_run::{Error, Result, in_words};

/// The file in which the kernel lists its symbols.
const KALLSYMS: &str = "/proc/kallsyms";

/// Functions in the order of their addresses.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// All names, one after the other.
    names: String,
    /// Address, and the range of the name in `names`. The range is empty for a symbol that is no
    /// function; it ends the function before it.
    starts: Vec<(u64, std::ops::Range<u32>)>,
}

impl Functions {
    /// Reads /proc/kallsyms.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): the file is missing, or does not show
    /// addresses to this user.
    pub(super) fn read() -> Result<Self> {
        let mut text = String::new();
        std::fs::File::open(KALLSYMS).and_then(|mut file| file.read_to_string(&mut text)).map_err(
            |error| {
                Error::unsupported(
                    "cannot-read",
                    format!("cannot read \"{KALLSYMS}\": {}", in_words(&error)),
                )
                .help("a kernel without CONFIG_KALLSYMS does not know the names of its functions")
            },
        )?;
        let functions = Self::parse(&text);
        if functions.is_empty() {
            let message = format!(
                "the kernel does not show this user the addresses of its functions (\"{KALLSYMS}\")"
            );
            return Err(Error::unsupported("kernel-addresses-hidden", message).help(
                "run as root, or give the right to: sysctl kernel.kptr_restrict=0 \
                 kernel.perf_event_paranoid=1",
            ));
        }
        Ok(functions)
    }

    /// Parses lines such as `ffffffff81000000 T _text` and `ffffffffc0201000 t name\t[module]`;
    /// others are skipped. Of several names of one address the first global one counts.
    fn parse(text: &str) -> Self {
        let mut found: Vec<(u64, u8, &str)> = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, ' ');
            let (Some(address), Some(kind), Some(name)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            // Hidden addresses are all 0; per-CPU variables have small numbers.
            if address < 1 << 32 {
                continue;
            }
            let rank = match kind {
                "T" => 0,
                "W" => 1,
                "t" | "w" => 2,
                _ => 3,
            };
            found.push((address, rank, name));
        }
        // A stable sort keeps the kernel's order among equals.
        found.sort_by_key(|&(address, rank, _)| (address, rank));
        found.dedup_by_key(|(address, _, _)| *address);
        let mut functions = Self::default();
        for (address, rank, name) in found {
            let from = functions.names.len() as u32;
            if rank < 3 {
                functions.names.push_str(name.trim_end());
            }
            let to = functions.names.len() as u32;
            if to > from || functions.starts.last().is_some_and(|(_, range)| !range.is_empty()) {
                functions.starts.push((address, from..to));
            }
        }
        functions
    }

    /// The name of the function that contains an address, as in /proc/kallsyms:
    /// `nf_hook_slow\t[nf_conntrack]`.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        let place = self.starts.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        let (_, range) = self.starts.get(place)?;
        self.names.get(range.start as usize..range.end as usize).filter(|name| !name.is_empty())
    }

    /// Number of functions.
    pub(super) fn count(&self) -> usize {
        self.starts.iter().filter(|(_, range)| !range.is_empty()).count()
    }

    fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 t first_local
ffffffff81000000 T first
ffffffff81000100 T second
ffffffff81000200 D data
ffffffff81000300 d more_data
rubbish
ffffffffc0000000 t third\t[module]
";

    #[test]
    fn an_address_has_the_function_that_begins_at_or_before_it() {
        let functions = Functions::parse(TEXT);
        assert_eq!(functions.count(), 3);
        assert_eq!(functions.name(0xffff_ffff_8100_0000), Some("first"));
        assert_eq!(functions.name(0xffff_ffff_8100_00ff), Some("first"));
        assert_eq!(functions.name(0xffff_ffff_8100_01ff), Some("second"));
        assert_eq!(
            functions.name(0xffff_ffff_8100_0234),
            None,
            "data is no function, and ends the one before it"
        );
        assert_eq!(functions.name(0xffff_ffff_c000_1000), Some("third\t[module]"));
        assert_eq!(functions.name(0x1000), None);
    }

    #[test]
    fn addresses_that_are_not_shown_are_no_functions() {
        assert!(
            Functions::parse("0000000000000000 T _text\n0000000000000000 T second\n").is_empty()
        );
        assert!(Functions::parse("").is_empty());
    }

    #[test]
    fn this_kernel_has_functions_or_says_why_not() {
        match Functions::read() {
            Ok(functions) => assert!(functions.count() > 1000),
            Err(error) => {
                eprintln!("skipped: {error}");
                assert!(error.help.is_some());
            }
        }
    }
}
