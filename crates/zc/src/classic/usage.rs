//! Output of `-h`.

use crate::tell;
use zc_classic::Tool;
use zc_run::Result;

/// Prints the help of a tool.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn print(tool: Tool) -> Result<()> {
    tell::result(match tool {
        Tool::Zcs => ZCS,
        Tool::Zcc => ZCC,
        Tool::Cyclesoak => CYCLESOAK,
        Tool::RunRr => RUN_RR,
        Tool::Ttcp => TTCP,
    })
}

const ZCS: &str = "\
Usage: zcs [-dh] [-B cpu] [-p port] [-i rcvbuf] [-o sndbuf] [--raw] [--interval seconds]

Discards the files that zcc sends, from several clients at a time, and prints the throughput.
Ctrl-C ends it.

  -B cpu      run on this CPU only
  -d          print more: also clients that connect
  -h          this text
  -i bytes    TCP receive buffer (the kernel's limit is net.core.rmem_max)
  -o bytes    TCP send buffer (net.core.wmem_max)
  -p port     listen on this port [2222]; 0 chooses a free one
  --raw       receive bare bytes instead of files with their lengths
  --interval seconds
              time between two lines of throughput [5]

\"N kbytes/sec\" has kbytes of 1,024 bytes.
";

const ZCC: &str = "\
Usage: zcc [-cCdhkSw] [-b bytes] [-B cpu] [-i rcvbuf] [-o sndbuf] [-n loops] [-N cpus] [-p port]
           [--raw] -s server file...

Sends files to zcs, by default with sendfile.

  -b bytes    with -S, bytes per read and send [65536]
  -B cpu      run on this CPU only
  -c          measure the CPU load of this machine while sending; needs a calibration (-C)
  -C          calibrate first, as cyclesoak -C does; nothing else should run
  -d          print more: also files that are left out
  -h          this text
  -i, -o bytes
              TCP receive and send buffer
  -k          use TCP_CORK
  -n loops    send all files this many times [1]
  -N cpus     soak only the first CPUs, this many [all]
  -p port     the server's port [2222]
  -s server   a host name or an address; 0 is this host
  -S          read and send instead of sendfile
  -w          with -S, write instead of send
  --raw       send bare bytes instead of files with their lengths
";

const CYCLESOAK: &str = "\
Usage: cyclesoak [-BCdh] [-N cpus] [-p seconds] [-m milliseconds]

Measures the CPU load of this machine by what is left to soakers; 100 % is all CPUs.

  -B          also print each CPU's figures
  -C          calibrate into ./counts_per_sec, while nothing else runs; do this first
  -d          print more: what the soakers counted
  -h          this text
  -m ms       time between two lines in milliseconds
  -N cpus     soak only the first CPUs, this many [all]
  -p seconds  time between two lines in seconds [1]
";

const RUN_RR: &str = "\
Usage: run_rr [-h] [command [argument...]]

Runs a command, or a shell, with the scheduling policy SCHED_RR, which its children inherit. Needs
root. A command that never ends can take a CPU for itself: the line that it prints says what this
kernel does about that.
";

const TTCP: &str = "\
Usage: ttcp -t [-cDhsv] [-b bytes] [-F file] [-l bytes] [-n number] [-p port] host
       ttcp -r [-chsv] [-b bytes] [-l bytes] [-p port] [host]

Sends or receives bytes over a bare TCP connection, once.

  -t          send: stdin, or the file of -F, or the pattern of -s
  -r          receive, and write the bytes to stdout
  -b bytes    TCP buffer of this side
  -c          -t: by sendfile; without a file, the pattern. -r: as -s
  -D          set TCP_NODELAY
  -F file     send this file
  -h          this text
  -l bytes    bytes per call [8192]
  -n number   with the pattern: number of calls [2048]
  -p port     [5001]; for -r, 0 chooses a free one
  -s          -t: send a pattern. -r: discard what is received
  -v          print more
";
