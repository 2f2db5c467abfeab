//! The simplest program that moves bytes over each send path, for comparison with zc's own loops.
//!
//! `cargo run --release --example minimal -- PATH SECONDS BUFFER SENDER_CPU RECEIVER_CPU FILE...`
//! sends the files over one loopback connection. It prints bytes per second as counted by the
//! receiver (recv(2) with the same buffer size) after a tenth of a second of warm-up. It has no
//! pacing, no counters, no completions beyond those that the kernel requires, and it panics on
//! errors. It shares no code with zc's paths, so that a detour in those shows.
//!
//! Of datagrams, of which a receiver loses what it has no room for, it counts what was sent; the
//! receiver of `tls-write` drops what arrives.

#![expect(clippy::disallowed_methods, reason = "an example that gets no thread may panic")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};
use rustix::net::SendFlags;
use rustix::pipe::SpliceFlags;

const PIECE: usize = 1 << 20;

/// Payload of a datagram, and datagrams of a call.
const DATAGRAM: usize = 1_200;
const SEGMENTS: usize = 16;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, seconds, buffer, sender_cpu, receiver_cpu, files @ ..] = args.as_slice() else {
        panic!("usage: minimal PATH SECONDS BUFFER SENDER_CPU RECEIVER_CPU FILE...");
    };
    let seconds: f64 = seconds.parse().expect("seconds");
    let buffer: usize = buffer.parse().expect("buffer");
    let files: Vec<File> = files.iter().map(|name| File::open(name).expect("file")).collect();
    let [sender_cpu, receiver_cpu] =
        [sender_cpu, receiver_cpu].map(|cpu| cpu.parse().expect("cpu"));
    if path.starts_with("udp-") {
        return datagrams(path, seconds, files, buffer, sender_cpu, receiver_cpu);
    }
    let congestion = std::env::var("MINIMAL_CONGESTION").unwrap_or_else(|_| "cubic".to_owned());

    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let to = listener.local_addr().expect("port");
    let received = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&received);
    let drops = path == "tls-write";
    std::thread::spawn(move || {
        pin(receiver_cpu);
        let (mut socket, _) = listener.accept().expect("accept");
        let mut into = vec![0; buffer];
        while let Ok(taken @ 1..) =
            if drops { discard(&socket, buffer) } else { socket.read(&mut into) }
        {
            counter.fetch_add(taken as u64, Ordering::Relaxed);
        }
    });
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let (path, cpu) = (path.clone(), sender_cpu);
    let sender = std::thread::spawn(move || {
        pin(cpu);
        let socket = TcpStream::connect(to).expect("connect");
        rustix::net::sockopt::set_tcp_congestion(&socket, &congestion).expect("congestion control");
        send(&path, &socket, &files, buffer, cpu, &stopped);
    });
    std::thread::sleep(Duration::from_millis(100));
    let (began, before) = (Instant::now(), received.load(Ordering::Relaxed));
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let moved = received.load(Ordering::Relaxed) - before;
    println!("{:.0}", moved as f64 / began.elapsed().as_secs_f64());
    stop.store(true, Ordering::Relaxed);
    sender.join().expect("sender");
}

/// recv(2) with MSG_TRUNC.
fn discard(socket: &TcpStream, len: usize) -> std::io::Result<usize> {
    // SAFETY: with MSG_TRUNC, TCP writes nothing through the pointer.
    let taken =
        unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), len, libc::MSG_TRUNC) };
    usize::try_from(taken).map_err(|_| std::io::Error::last_os_error())
}

/// Sends the files in datagrams to a receiver that takes them one by one, and prints how many bytes
/// were sent per second.
fn datagrams(
    path: &str,
    seconds: f64,
    files: Vec<File>,
    buffer: usize,
    sender_cpu: usize,
    receiver_cpu: usize,
) {
    let [from, to] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("bind"));
    from.connect(to.local_addr().expect("port")).expect("connect");
    to.connect(from.local_addr().expect("port")).expect("connect");
    let taking = std::thread::spawn(move || {
        pin(receiver_cpu);
        let mut into = vec![0; DATAGRAM];
        while let Ok(1..) = to.recv(&mut into) {}
    });
    let stop = Arc::new(AtomicBool::new(false));
    let sent = Arc::new(AtomicU64::new(0));
    let (path, stopped, counter) = (path.to_owned(), Arc::clone(&stop), Arc::clone(&sent));
    let sender = std::thread::spawn(move || {
        pin(sender_cpu);
        let mut bytes = vec![0; buffer / DATAGRAM * DATAGRAM];
        if path == "udp-gso" {
            let size = DATAGRAM as libc::c_int;
            // SAFETY: an int option with its size.
            let set = unsafe {
                libc::setsockopt(
                    from.as_raw_fd(),
                    libc::SOL_UDP,
                    libc::UDP_SEGMENT,
                    (&raw const size).cast(),
                    4,
                )
            };
            assert_eq!(set, 0, "UDP_SEGMENT");
        }
        each(&files, bytes.len(), &stopped, |file, _, offset, len| {
            let got = files[file].read_at(&mut bytes[..len], offset).expect("read");
            match path.as_str() {
                "udp-send" => bytes[..got].chunks(DATAGRAM).for_each(|datagram| {
                    from.send(datagram).expect("send");
                }),
                "udp-gso" => bytes[..got].chunks(SEGMENTS * DATAGRAM).for_each(|datagrams| {
                    from.send(datagrams).expect("send");
                }),
                "udp-sendmmsg" => {
                    bytes[..got].chunks(SEGMENTS * DATAGRAM).for_each(|datagrams| {
                        sendmmsg(&from, datagrams);
                    });
                }
                other => panic!("no such path: {other}"),
            }
            counter.fetch_add(got as u64, Ordering::Relaxed);
        });
        // One of these ends the receiver.
        while !taking.is_finished() {
            let _ = from.send(&[]);
        }
    });
    std::thread::sleep(Duration::from_millis(100));
    let (began, before) = (Instant::now(), sent.load(Ordering::Relaxed));
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let moved = sent.load(Ordering::Relaxed) - before;
    println!("{:.0}", moved as f64 / began.elapsed().as_secs_f64());
    stop.store(true, Ordering::Relaxed);
    sender.join().expect("sender");
}

fn sendmmsg(socket: &UdpSocket, bytes: &[u8]) {
    let mut parts: [libc::iovec; SEGMENTS] =
        std::array::from_fn(|_| libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 });
    // SAFETY: an mmsghdr of zeros is a valid empty one.
    let mut headers: [libc::mmsghdr; SEGMENTS] = unsafe { std::mem::zeroed() };
    let mut count = 0;
    for (place, datagram) in bytes.chunks(DATAGRAM).enumerate() {
        parts[place].iov_base = datagram.as_ptr().cast_mut().cast();
        parts[place].iov_len = datagram.len();
        headers[place].msg_hdr.msg_iov = &raw mut parts[place];
        headers[place].msg_hdr.msg_iovlen = 1;
        count = place + 1;
    }
    // SAFETY: each header has a part within `bytes`.
    let sent = unsafe {
        libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count as libc::c_uint, 0)
    };
    assert_eq!(sent, count as libc::c_int, "sendmmsg");
}

/// TLS 1.3 records of 16 KiB, encrypted in place by AES-128-GCM.
fn tls_write(socket: &TcpStream, files: &[File], buffer: usize, stop: &AtomicBool) {
    use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
    const PAYLOAD: usize = 1 << 14;
    const HEADER: usize = 5;
    const AFTER: usize = 17;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &[1; 16]).expect("key"));
    let mut number = 0_u64;
    let mut bytes = vec![0; buffer.div_ceil(PAYLOAD) * (HEADER + PAYLOAD + AFTER)];
    each(files, buffer, stop, |file, _, offset, len| {
        let mut left = len;
        let mut parts: Vec<std::io::IoSliceMut<'_>> = Vec::new();
        for record in bytes.chunks_mut(HEADER + PAYLOAD + AFTER) {
            let part = left.min(PAYLOAD);
            if part > 0 {
                parts.push(std::io::IoSliceMut::new(&mut record[HEADER..][..part]));
                left -= part;
            }
        }
        let got = rustix::io::preadv(&files[file], &mut parts, offset).expect("preadv");
        assert_eq!(got, len, "a short read");
        let wire = len + len.div_ceil(PAYLOAD) * (HEADER + AFTER);
        for record in bytes[..wire].chunks_mut(HEADER + PAYLOAD + AFTER) {
            let inner = record.len() - HEADER;
            record[..HEADER].copy_from_slice(&[23, 3, 3, (inner >> 8) as u8, inner as u8]);
            let tag_at = record.len() - 16;
            record[tag_at - 1] = 23;
            let mut nonce = [7; 12];
            for (byte, number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
                *byte ^= number;
            }
            let (sealed, tag) = record.split_at_mut(tag_at);
            let (header, payload) = sealed.split_at_mut(HEADER);
            let nonce = Nonce::assume_unique_for_key(nonce);
            let computed =
                key.seal_in_place_separate_tag(nonce, Aad::from(&*header), payload).expect("seal");
            tag.copy_from_slice(computed.as_ref());
            number += 1;
        }
        send_all(socket, &bytes[..wire], SendFlags::NOSIGNAL);
    });
}

fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).expect("pin");
}

fn send(
    path: &str,
    socket: &TcpStream,
    files: &[File],
    buffer: usize,
    cpu: usize,
    stop: &AtomicBool,
) {
    match path {
        "read+write" | "read+send" => {
            let mut bytes = vec![0; buffer];
            each(files, buffer, stop, |file, _, offset, len| {
                let got = files[file].read_at(&mut bytes[..len], offset).expect("read");
                if path == "read+write" {
                    (&mut &*socket).write_all(&bytes[..got]).expect("write");
                } else {
                    send_all(socket, &bytes[..got], SendFlags::NOSIGNAL);
                }
            });
        }
        "mmap+write" => {
            let maps = maps(files, true);
            each(files, buffer, stop, |file, _, offset, len| {
                (&mut &*socket)
                    .write_all(&maps[file][offset as usize..offset as usize + len])
                    .expect("write");
            });
        }
        "sendfile" => each(files, PIECE, stop, |file, _, offset, len| {
            let mut at = offset;
            while at < offset + len as u64 {
                let left = (offset + len as u64 - at) as usize;
                rustix::fs::sendfile(socket, &files[file], Some(&mut at), left).expect("sendfile");
            }
        }),
        "splice" => {
            let (out, into) = pipe();
            each(files, PIECE, stop, |file, _, offset, len| {
                let mut at = offset;
                while at < offset + len as u64 {
                    let left = (offset + len as u64 - at) as usize;
                    let got = rustix::pipe::splice(
                        &files[file],
                        Some(&mut at),
                        &into,
                        None,
                        left,
                        SpliceFlags::empty(),
                    )
                    .expect("splice");
                    drain_pipe(&out, socket, got, left > got);
                }
            });
        }
        "vmsplice" => {
            let maps = maps(files, false);
            let (out, into) = pipe();
            each(files, PIECE, stop, |file, _, offset, len| {
                let mut slice = &maps[file][offset as usize..offset as usize + len];
                while !slice.is_empty() {
                    // SAFETY: the mapping lives until the process ends and is not written to.
                    let got = unsafe {
                        rustix::pipe::vmsplice(
                            &into,
                            &[rustix::pipe::IoSliceRaw::from_slice(slice)],
                            SpliceFlags::empty(),
                        )
                    }
                    .expect("vmsplice");
                    slice = &slice[got..];
                    drain_pipe(&out, socket, got, !slice.is_empty());
                }
            });
        }
        "tls-write" => tls_write(socket, files, buffer, stop),
        "msg-zerocopy" | "msg-zerocopy-mmap" => msg_zerocopy(path, socket, files, buffer, stop),
        _ => uring(path, socket, files, buffer, cpu, stop),
    }
}

/// Calls `part` for every part of every file, repeatedly: file, its length, offset, length of the
/// part.
fn each(
    files: &[File],
    step: usize,
    stop: &AtomicBool,
    mut part: impl FnMut(usize, u64, u64, usize),
) {
    let lens: Vec<u64> =
        files.iter().map(|file| file.metadata().expect("metadata").len()).collect();
    loop {
        for (file, &len) in lens.iter().enumerate() {
            let mut offset = 0;
            while offset < len {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let step = step.min((len - offset) as usize);
                part(file, len, offset, step);
                offset += step as u64;
            }
        }
    }
}

fn send_all(socket: &TcpStream, mut bytes: &[u8], flags: SendFlags) {
    while !bytes.is_empty() {
        bytes = &bytes[rustix::net::send(socket, bytes, flags).expect("send")..];
    }
}

fn pipe() -> (std::os::fd::OwnedFd, std::os::fd::OwnedFd) {
    let (out, into) = rustix::pipe::pipe().expect("pipe");
    rustix::pipe::fcntl_setpipe_size(&into, PIECE).expect("pipe size");
    (out, into)
}

fn drain_pipe(out: impl AsFd, socket: &TcpStream, mut left: usize, more: bool) {
    let flags = if more { SpliceFlags::MORE } else { SpliceFlags::empty() };
    while left > 0 {
        left -= rustix::pipe::splice(&out, None, socket, None, left, flags).expect("splice");
    }
}

/// The files, mapped (shared) or copied into anonymous memory. Never unmapped.
fn maps(files: &[File], shared: bool) -> Vec<&'static [u8]> {
    files
        .iter()
        .map(|file| {
            let len = file.metadata().expect("metadata").len() as usize;
            if shared {
                use rustix::mm::{MapFlags, ProtFlags, mmap};
                // SAFETY: a new mapping of `len` bytes of a file that is not truncated. It is never
                // unmapped.
                unsafe {
                    let at = mmap(
                        std::ptr::null_mut(),
                        len,
                        ProtFlags::READ,
                        MapFlags::SHARED | MapFlags::POPULATE,
                        file,
                        0,
                    )
                    .expect("mmap");
                    std::slice::from_raw_parts(at.cast::<u8>(), len)
                }
            } else {
                // Page-aligned, like zc's own copy.
                let layout = std::alloc::Layout::from_size_align(len, 4096).expect("layout");
                // SAFETY: `len` is not 0. The memory is written completely before it is read, and
                // never freed.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(std::alloc::alloc_zeroed(layout), len)
                };
                file.read_exact_at(bytes, 0).expect("read");
                &*bytes
            }
        })
        .collect()
}

fn msg_zerocopy(path: &str, socket: &TcpStream, files: &[File], buffer: usize, stop: &AtomicBool) {
    let maps = maps(files, path == "msg-zerocopy-mmap");
    let on: libc::c_int = 1;
    // SAFETY: an int option with its size.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ZEROCOPY,
            (&raw const on).cast(),
            4,
        )
    };
    assert_eq!(set, 0, "SO_ZEROCOPY");
    let mut since = 0;
    each(files, buffer, stop, |file, _, offset, len| {
        let mut bytes = &maps[file][offset as usize..offset as usize + len];
        while !bytes.is_empty() {
            match rustix::net::send(
                socket,
                bytes,
                SendFlags::NOSIGNAL | SendFlags::from_bits_retain(libc::MSG_ZEROCOPY as _),
            ) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(rustix::io::Errno::NOBUFS) => reap(socket, true),
                Err(error) => panic!("send: {error}"),
            }
        }
        since += 1;
        if since % 16 == 0 {
            reap(socket, false);
        }
    });
}

/// Discards what the error queue holds.
fn reap(socket: &TcpStream, wait: bool) {
    if wait {
        let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: one pollfd.
        unsafe { libc::poll(&raw mut poll, 1, 100) };
    }
    loop {
        let mut control = [0_u8; 128];
        // SAFETY: a msghdr of zeros is a valid empty one.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = control.len();
        // SAFETY: the control buffer outlives the call.
        if unsafe {
            libc::recvmsg(
                socket.as_raw_fd(),
                &raw mut message,
                libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
            )
        } < 0
        {
            return;
        }
    }
}

fn uring(
    path: &str,
    socket: &TcpStream,
    files: &[File],
    buffer: usize,
    cpu: usize,
    stop: &AtomicBool,
) {
    let mut ring = IoUring::new(256).expect("ring");
    let to = types::Fd(socket.as_raw_fd());
    match path {
        "uring-send" => {
            let mut bytes = vec![0_u8; buffer];
            each(files, buffer, stop, |file, _, offset, len| {
                let from = types::Fd(files[file].as_raw_fd());
                let read = opcode::Read::new(from, bytes.as_mut_ptr(), len as u32)
                    .offset(offset)
                    .build()
                    .flags(squeue::Flags::IO_LINK);
                let send = opcode::Send::new(to, bytes.as_ptr(), len as u32)
                    .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
                    .build();
                // SAFETY: the buffer lives until both have completed, directly below.
                unsafe { ring.submission().push_multiple(&[read, send]) }.expect("push");
                ring.submit_and_wait(2).expect("enter");
                assert!(ring.completion().all(|done| done.result() == len as i32), "uring-send");
            });
        }
        "uring-send-zc" | "uring-send-zc-fixed" => {
            let maps = maps(files, false);
            let fixed = path == "uring-send-zc-fixed";
            if fixed {
                let vectors: Vec<libc::iovec> = maps
                    .iter()
                    .map(|map| libc::iovec {
                        iov_base: map.as_ptr().cast_mut().cast(),
                        iov_len: map.len(),
                    })
                    .collect();
                // SAFETY: the memory is never freed.
                unsafe { ring.submitter().register_buffers(&vectors) }.expect("register");
            }
            let mut pending = 0_i64;
            each(files, buffer, stop, |file, _, offset, len| {
                let mut at = offset as usize;
                while at < offset as usize + len {
                    let left = offset as usize + len - at;
                    let send = opcode::SendZc::new(to, maps[file][at..].as_ptr(), left as u32)
                        .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL);
                    let send = if fixed { send.buf_index(Some(file as u16)) } else { send }
                        .build()
                        .user_data(1);
                    // SAFETY: the memory is never freed nor written.
                    unsafe { ring.submission().push(&send) }.expect("push");
                    let mut done = None;
                    while done.is_none() {
                        ring.submit_and_wait(1).expect("enter");
                        for entry in ring.completion() {
                            if io_uring::cqueue::notif(entry.flags()) {
                                pending -= 1;
                            } else {
                                pending += i64::from(io_uring::cqueue::more(entry.flags()));
                                done = Some(entry.result());
                            }
                        }
                    }
                    match done {
                        Some(sent @ 1..) => at += sent as usize,
                        Some(error) if error == -libc::ENOMEM || error == -libc::ENOBUFS => {
                            while pending > 0 {
                                ring.submit_and_wait(1).expect("enter");
                                pending -= ring.completion().count() as i64;
                            }
                        }
                        other => panic!("send_zc: {other:?}"),
                    }
                }
            });
            while pending > 0 {
                ring.submit_and_wait(1).expect("enter");
                pending -= ring.completion().count() as i64;
            }
        }
        "uring-splice" => {
            // SAFETY: a cpu_set_t of zeros is the empty set.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: `set` is a valid set, and pin() has accepted `cpu`.
            unsafe { libc::CPU_SET(cpu, &mut set) };
            ring.submitter().register_iowq_aff(&set).expect("affinity");
            let (out, into) = pipe();
            let (out, into) = (types::Fd(out.into_raw()), types::Fd(into.into_raw()));
            each(files, PIECE, stop, |file, _, offset, len| {
                let from = types::Fd(files[file].as_raw_fd());
                let mut at = offset;
                while at < offset + len as u64 {
                    let left = (offset + len as u64 - at) as u32;
                    let fill =
                        opcode::Splice::new(from, at as i64, into, -1, left).build().user_data(1);
                    // SAFETY: splice uses no memory of this process.
                    unsafe { ring.submission().push(&fill) }.expect("push");
                    ring.submit_and_wait(1).expect("enter");
                    let got = ring.completion().next().expect("completion").result();
                    assert!(got > 0, "splice: {got}");
                    at += got as u64;
                    let mut in_pipe = got;
                    while in_pipe > 0 {
                        let drain = opcode::Splice::new(out, -1, to, -1, in_pipe as u32)
                            .build()
                            .user_data(2);
                        // SAFETY: splice uses no memory of this process.
                        unsafe { ring.submission().push(&drain) }.expect("push");
                        ring.submit_and_wait(1).expect("enter");
                        let put = ring.completion().next().expect("completion").result();
                        assert!(put > 0, "splice: {put}");
                        in_pipe -= put;
                    }
                }
            });
        }
        other => panic!("no minimal loop for {other}"),
    }
}

trait IntoRaw {
    fn into_raw(self) -> i32;
}

impl IntoRaw for std::os::fd::OwnedFd {
    fn into_raw(self) -> i32 {
        std::os::fd::IntoRawFd::into_raw_fd(self)
    }
}
