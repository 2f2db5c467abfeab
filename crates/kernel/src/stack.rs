//! A stack with room for what the calling thread does, where the limit of its own is too low.
//!
//! A thread of its own would have one, too. But then the process has two, and may not fork without
//! exec, nor enter a user namespace.

use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::process::{Resource, getrlimit};

/// The size of the memory below a stack that cannot be touched: the largest page of the
/// architectures that have an implementation here.
const GUARD_BYTES: usize = 64 << 10;

/// Calls `work` with a stack of at least `bytes`: that of the calling thread if RLIMIT_STACK lets
/// it grow so far, else one in memory of its own, in which an overflow is a SIGSEGV, too. To be
/// called by the main thread, near the beginning of the program.
///
/// If there is no memory, and on architectures without an implementation here, `work` is called on
/// the existing stack.
///
/// # References
/// - [getrlimit(2)], RLIMIT_STACK
/// - [mmap(2)]
///
/// [getrlimit(2)]: https://man7.org/linux/man-pages/man2/getrlimit.2.html
/// [mmap(2)]: https://man7.org/linux/man-pages/man2/mmap.2.html
#[doc(alias = "RLIMIT_STACK")]
#[doc(alias = "ulimit")]
pub fn at_least<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= bytes as u64) {
        return work();
    }
    match Stack::map(bytes) {
        Ok(stack) => on(&stack, work),
        Err(_) => work(),
    }
}

/// Memory for a stack, which grows downwards.
#[derive(Debug)]
struct Stack {
    start: *mut c_void,
    bytes: usize,
}

impl Stack {
    /// # Errors
    /// - ENOMEM: no memory, or RLIMIT_AS.
    fn map(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.next_multiple_of(GUARD_BYTES) + GUARD_BYTES;
        let kind = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses where, so that nothing is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, kind) }?;
        let stack = Self { start, bytes };
        // SAFETY: this is the beginning of the mapping above, which nobody uses yet.
        unsafe { mprotect(start, GUARD_BYTES, MprotectFlags::empty()) }?;
        Ok(stack)
    }

    /// The end of it, where it begins to be used. Mappings end at a page, so it is aligned.
    fn top(&self) -> *mut c_void {
        self.start.wrapping_byte_add(self.bytes)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's. Nothing is on it any more: who calls something on it
        // borrows it until that has returned. It fails for no such mapping.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}

/// Calls `work` on `stack`.
fn on<T>(stack: &Stack, work: impl FnOnce() -> T) -> T {
    let mut work = Some(work);
    let mut result = None;
    let mut job = || {
        // A panic may not unwind into the frame that switches stacks.
        result = work.take().map(|work| catch_unwind(AssertUnwindSafe(work)));
    };
    let mut job: &mut dyn FnMut() = &mut job;
    // SAFETY: the top of the stack is aligned to more than 16 bytes, the memory below it is nobody
    // else's and lives as long as `stack`. `call` gets the pointer that it wants, and does not
    // unwind.
    unsafe { switch(stack.top(), call, (&raw mut job).cast()) };
    match result {
        Some(Ok(value)) => value,
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("the job is called once"),
    }
}

/// Calls the `&mut dyn FnMut()` that `job` points to.
extern "C" fn call(job: *mut c_void) {
    // SAFETY: `on` passes a pointer to such a reference, which it does not touch meanwhile.
    let job = unsafe { &mut *job.cast::<&mut dyn FnMut()>() };
    job();
}

/// Calls `work` with `argument` while the stack pointer is `top`.
///
/// # Safety
/// Below `top`, which is aligned to 16 bytes, there is memory for a stack that nobody uses. `work`
/// can be called with `argument`, and does not unwind.
#[cfg(target_arch = "x86_64")]
unsafe fn switch(top: *mut c_void, work: extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: by the System V ABI the callee restores r12, which has the old stack pointer, and
    // clobbers no more than clobber_abi says.
    unsafe {
        std::arch::asm!(
            "xchg rsp, r12",
            "call {work}",
            "mov rsp, r12",
            work = in(reg) work,
            in("rdi") argument,
            inout("r12") top => _,
            clobber_abi("C"),
        );
    }
}

/// Calls `work` with `argument` while the stack pointer is `top`.
///
/// # Safety
/// Below `top`, which is aligned to 16 bytes, there is memory for a stack that nobody uses. `work`
/// can be called with `argument`, and does not unwind.
#[cfg(target_arch = "aarch64")]
unsafe fn switch(top: *mut c_void, work: extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: by the AAPCS64 the callee restores x21, which has the old stack pointer, and clobbers
    // no more than clobber_abi says.
    unsafe {
        std::arch::asm!(
            "mov x21, sp",
            "mov sp, {top}",
            "blr {work}",
            "mov sp, x21",
            top = in(reg) top,
            work = in(reg) work,
            in("x0") argument,
            out("x21") _,
            clobber_abi("C"),
        );
    }
}

/// Calls `work` with `argument` on the stack that there is.
///
/// # Safety
/// `work` can be called with `argument`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn switch(_top: *mut c_void, work: extern "C" fn(*mut c_void), argument: *mut c_void) {
    work(argument);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// Needs a frame of a kilobyte for each level.
    fn deep(levels: usize) -> usize {
        let frame = std::hint::black_box([0_u8; 1024]);
        let below = if levels == 0 { 0 } else { 1 + deep(levels - 1) };
        below + usize::from(frame[1])
    }

    #[test]
    fn work_has_room_and_returns() {
        // The threads of tests have 2 MiB.
        let stack = Stack::map(64 * MIB).unwrap();
        let text = String::from("kept");
        let (levels, at) = on(&stack, || {
            let here = 0_u8;
            (deep(8 << 10), (&raw const here).addr())
        });
        assert_eq!((levels, text.as_str()), (8 << 10, "kept"));
        let has_switched = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        let is_there = (stack.start.addr()..stack.top().addr()).contains(&at);
        assert_eq!(is_there, has_switched);
    }

    #[test]
    fn a_panic_goes_on_where_the_stack_was_switched() {
        let stack = Stack::map(MIB).unwrap();
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {})); // this one is intended
        let panic = catch_unwind(|| on(&stack, || panic!("on another stack")));
        std::panic::set_hook(hook);
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "on another stack");
    }

    #[test]
    fn where_the_limit_is_high_enough_nothing_is_switched() {
        let outside = 0_u8;
        let apart = at_least(1, || {
            let inside = 0_u8;
            (&raw const inside).addr().abs_diff((&raw const outside).addr())
        });
        assert!(apart < GUARD_BYTES, "{apart} bytes from the stack of the caller");
    }
}
