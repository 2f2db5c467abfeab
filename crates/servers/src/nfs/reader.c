/* The user-space end of `zc run nfs`: reads a file by libnfs with READs of one size, at a rate, or writes it by WRITEs, and is
 * told what to do by zc.
 *
 *   reader ORDERS ANSWERS COUNTS      two FIFOs and a file of three 64-bit numbers, which zc has made
 *
 * Orders are lines, each answered by one, except `go`:
 *
 *   open OPERATION MOST URL           ok SIZE LARGEST CRC-32              connects, mounts, and reads the file once, or its
 *                                                                         first MOST bytes (0: all); for WRITEs, writes
 *                                                                         them before
 *   go FILE BYTES DEPTH PER_S CALLS BEGIN_NS                              begins to read or write: at most DEPTH calls at a
 *                                                                         time, at equal spacing (PER_S 0: as fast as they
 *                                                                         are answered), CALLS of them (0: until it is
 *                                                                         stopped)
 *   stop                              done SHORT LATE_US:N ...            waits for the calls that are under way, and for a
 *                                                                         COMMIT where these were WRITEs; SHORT of them had
 *                                                                         fewer bytes than were asked for
 *
 * OPERATION is read, write (UNSTABLE) or write-sync (FILE_SYNC). SIZE is that of what is read, LARGEST that of a call which the
 * server allows. What is written is the pattern of pattern.rs.
 *
 * Whatever fails is answered with `no WORDS`, for `go` at the next `stop`, and with `never WORDS` what need not be tried again.
 * COUNTS has the calls that were answered, their bytes, and those that failed; zc reads it at any moment.
 *
 * A call is late by the time from when it was due to its answer. The classes of that time are powers of two and a quarter of
 * the way to the next.
 *
 * cc -O2 reader.c -lnfs -ldl */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <nfsc/libnfs.h>

/* How long an answer of the server may take. */
enum { PATIENCE_MS = 10000 };

enum { FILES = 16, CLASSES = 4 * 64 };

/* Bytes of a call in which a file is read or written once, and after which the pattern repeats itself. */
enum { STEP = 1 << 20, PERIOD = 64 * 16411 };

struct file {
    struct nfs_context *nfs;
    struct nfsfh *handle;
    uint64_t size, largest;
    enum { READ, WRITE, WRITE_SYNC } operation;
};

/* A READ or WRITE that is under way. */
struct call {
    struct call *next;
    uint64_t due_ns;
    uint64_t bytes;
    char *buffer;
};

static struct file files[FILES];
static int known;
static _Atomic uint64_t *counts; /* answered, bytes, failed */
static char failure[256];
static int is_for_ever;
static int gone; /* the connection that is read from */

static struct {
    struct file *of;
    uint64_t bytes, offset, end, left, begin_ns, sent, shorter;
    double spacing_ns;
    unsigned depth, under_way;
    struct call *free;
    uint64_t late[CLASSES];
} phase;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *form, ...)
{
    va_list words;
    if (failure[0])
        return;
    va_start(words, form);
    vsnprintf(failure, sizeof failure, form, words);
    va_end(words);
    for (char *c = failure; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

static unsigned class_of(uint64_t us)
{
    if (us < 4)
        return (unsigned)us;
    unsigned top = 63 - (unsigned)__builtin_clzll(us);
    return 4 * top + (unsigned)(us >> (top - 2) & 3) - 4;
}

static uint64_t end_of(unsigned class)
{
    if (class < 4)
        return class;
    unsigned top = (class + 4) / 4, quarter = class % 4;
    return (1ull << top) + ((uint64_t)(quarter + 1) << (top - 2)) - 1;
}

static const char *name_of(const struct file *file)
{
    return file && file->operation != READ ? "WRITE" : "READ"; /* none: late answers */
}

/* What is written: any byte of the file is pattern()[its offset % PERIOD]. Enough of it for a call at any offset; made when the
 * first file is opened to be written, and NULL only where that has failed. */
static char *pattern(void)
{
    static unsigned char *made;
    uint64_t x = 1;
    if (made || !(made = malloc(PERIOD + STEP)))
        return (char *)made;
    for (unsigned at = 0; at < PERIOD; at++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        made[at] = (unsigned char)(x >> 56);
    }
    memcpy(made + PERIOD, made, STEP);
    return (char *)made;
}

static void answered(int got, struct nfs_context *nfs, void *data, void *private)
{
    struct call *call = private;
    (void)nfs;
    phase.under_way--;
    if (got < 0) {
        atomic_fetch_add_explicit(&counts[2], 1, memory_order_relaxed);
        fail("a %s failed: %s", name_of(phase.of), data ? (const char *)data : strerror(-got));
    } else {
        uint64_t late_us = (now_ns() - call->due_ns) / 1000;
        phase.late[class_of(late_us)]++;
        phase.shorter += (uint64_t)got < call->bytes;
        atomic_fetch_add_explicit(&counts[1], (uint64_t)got, memory_order_relaxed);
        atomic_fetch_add_explicit(&counts[0], 1, memory_order_release);
    }
    call->next = phase.free;
    phase.free = call;
}

static int send_call(struct call *call)
{
    struct nfs_context *nfs = phase.of->nfs;
    struct nfsfh *handle = phase.of->handle;
#ifdef LIBNFS_API_V2
    if (phase.of->operation != READ)
        return nfs_pwrite_async(nfs, handle, pattern() + phase.offset % PERIOD, phase.bytes, phase.offset, answered, call);
    if (!(call->buffer = realloc(call->buffer, phase.bytes)))
        return fail("out of memory"), -1;
    return nfs_pread_async(nfs, handle, call->buffer, phase.bytes, phase.offset, answered, call);
#else
    if (phase.of->operation != READ)
        return nfs_pwrite_async(nfs, handle, phase.offset, phase.bytes, pattern() + phase.offset % PERIOD, answered, call);
    return nfs_pread_async(nfs, handle, phase.offset, phase.bytes, answered, call);
#endif
}

static int begin_call(uint64_t due_ns)
{
    struct call *call = phase.free;
    if (call)
        phase.free = call->next;
    else
        call = calloc(1, sizeof *call);
    if (!call)
        return fail("out of memory"), -1;
    call->due_ns = due_ns;
    call->bytes = phase.bytes;
    if (send_call(call))
        return fail("a %s could not be sent: %s", name_of(phase.of), nfs_get_error(phase.of->nfs)), -1;
    phase.offset += phase.bytes;
    if (phase.offset + phase.bytes > phase.end)
        phase.offset = 0;
    phase.under_way++;
    phase.sent++;
    if (phase.left != UINT64_MAX)
        phase.left--;
    return 0;
}

/* When the next call is due; UINT64_MAX: none is, or it has to wait for an answer. */
static uint64_t next_due(void)
{
    if (failure[0] || !phase.left || phase.under_way >= phase.depth)
        return UINT64_MAX;
    return phase.begin_ns + (uint64_t)((double)phase.sent * phase.spacing_ns);
}

/* Waits for an order, an answer or `until_ns`. Returns whether there is an order. */
static int wait_for(int orders, uint64_t until_ns)
{
    struct pollfd fds[2] = {{.fd = orders, .events = POLLIN}, {.fd = -1}};
    struct timespec left, *limit = NULL;
    if (phase.of && !gone) {
        fds[1].fd = nfs_get_fd(phase.of->nfs);
        fds[1].events = (short)nfs_which_events(phase.of->nfs);
    }
    if (until_ns != UINT64_MAX) {
        uint64_t now = now_ns(), ns = until_ns > now ? until_ns - now : 0;
        left = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
        limit = &left;
    }
    if (ppoll(fds, 2, limit, NULL) < 0)
        return 0;
    if (fds[1].revents && nfs_service(phase.of->nfs, fds[1].revents) < 0) {
        gone = 1; /* polled again, it would answer at once */
        fail("the connection to the server is gone: %s", nfs_get_error(phase.of->nfs));
    }
    return fds[0].revents != 0;
}

static void answer(FILE *to, const char *form, ...)
{
    va_list words;
    if (failure[0]) {
        fprintf(to, "%s %s\n", is_for_ever ? "never" : "no", failure);
    } else {
        va_start(words, form);
        vfprintf(to, form, words);
        va_end(words);
        putc('\n', to);
    }
    fflush(to);
    failure[0] = is_for_ever = 0;
}

static uint32_t crc32_of(uint32_t crc, const unsigned char *bytes, uint64_t length)
{
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t n = 0; n < 256; n++) {
            uint32_t c = n;
            for (int bit = 0; bit < 8; bit++)
                c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
            table[n] = c;
        }
    crc = ~crc;
    while (length--)
        crc = table[(crc ^ *bytes++) & 255] ^ crc >> 8;
    return ~crc;
}

static int read_at(struct file *file, char *into, uint64_t bytes, uint64_t at)
{
#ifdef LIBNFS_API_V2
    return nfs_pread(file->nfs, file->handle, into, bytes, at);
#else
    return nfs_pread(file->nfs, file->handle, at, bytes, into);
#endif
}

static int write_at(struct file *file, char *from, uint64_t bytes, uint64_t at)
{
#ifdef LIBNFS_API_V2
    return nfs_pwrite(file->nfs, file->handle, from, bytes, at);
#else
    return nfs_pwrite(file->nfs, file->handle, at, bytes, from);
#endif
}

/* Reads or writes what of the file is to be read, by calls that the server allows. Returns the CRC-32 of what was read. */
static uint32_t go_through(struct file *file, int is_write)
{
    uint64_t step = file->largest < STEP ? file->largest : STEP;
    uint32_t crc = 0;
    char *bytes = is_write ? pattern() : malloc(step);
    if (!bytes)
        fail("out of memory");
    for (uint64_t at = 0; !failure[0] && at < file->size;) {
        uint64_t length = file->size - at < step ? file->size - at : step;
        int got = is_write ? write_at(file, bytes + at % PERIOD, length, at) : read_at(file, bytes, length, at);
        if (got <= 0) {
            is_for_ever = is_write;
            fail("the file cannot be %s: %s", is_write ? "written" : "read", nfs_get_error(file->nfs));
        }
        if (got > 0 && !is_write)
            crc = crc32_of(crc, (unsigned char *)bytes, (uint64_t)got);
        at += (uint64_t)got;
    }
    if (!is_write)
        free(bytes);
    else if (!failure[0] && nfs_fsync(file->nfs, file->handle))
        fail("the file cannot be written: %s", nfs_get_error(file->nfs));
    return crc;
}

static int operation_of(const char *name)
{
    static const char *const names[] = {"read", "write", "write-sync"};
    for (int each = READ; each <= WRITE_SYNC; each++)
        if (!strcmp(name, names[each]))
            return each;
    return -1;
}

/* What libnfs calls. It gives no hints, and glibc takes that for AI_ADDRCONFIG: ::1 would be no address where this machine has
 * no other one of IPv6. URLs have addresses alone. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    static const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST};
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    return next ? next(node, service, hints ? hints : &numeric, found) : EAI_FAIL;
}

/* An IPv6 address as getaddrinfo knows it: libnfs 4 leaves it in the brackets of the URL. */
static char *without_brackets(char *server)
{
    char *end = strchr(server, ']');
    if (server[0] != '[' || !end)
        return server;
    *end = 0;
    return server + 1;
}

static void open_file(FILE *to, const char *words)
{
    struct file *file = &files[known];
    struct nfs_stat_64 stat;
    struct nfs_url *parts = NULL;
    uint64_t most;
    uint32_t crc = 0;
    char operation[16], url[1024];
    int which = -1, error;
    if (known == FILES || !(file->nfs = nfs_init_context())) {
        fail("too many files");
    } else if (sscanf(words, "%15s %" SCNu64 " %1023s", operation, &most, url) != 3 || (which = operation_of(operation)) < 0) {
        fail("the order is not understood: open %s", words);
    } else {
        int flags = which == READ ? O_RDONLY : which == WRITE ? O_RDWR : O_RDWR | O_SYNC;
        file->operation = which;
        nfs_set_timeout(file->nfs, PATIENCE_MS);
        if (!(parts = nfs_parse_url_full(file->nfs, url)))
            fail("%s", nfs_get_error(file->nfs));
        else if (nfs_mount(file->nfs, without_brackets(parts->server), parts->path))
            fail("the export cannot be mounted: %s%s", strchr(parts->server, '%') ? "libnfs takes no zone of an address: " : "",
                 nfs_get_error(file->nfs));
        else if ((error = nfs_open(file->nfs, parts->file, flags, &file->handle)) ||
                 (error = nfs_fstat64(file->nfs, file->handle, &stat))) {
            is_for_ever = error == -EROFS || error == -EACCES;
            fail("the file cannot be opened: %s", nfs_get_error(file->nfs));
        } else {
            nfs_set_autoreconnect(file->nfs, 0); /* a server that is gone is an error */
            file->size = most && most < stat.nfs_size ? most : stat.nfs_size;
            /* By version 4 libnfs does not ask; a READ that is too long is answered with fewer bytes. */
            file->largest = which == READ ? nfs_get_readmax(file->nfs) : nfs_get_writemax(file->nfs);
            if (!file->largest)
                file->largest = STEP;
            if (which != READ)
                go_through(file, 1);
            crc = go_through(file, 0);
        }
        if (parts)
            nfs_destroy_url(parts);
    }
    if (!failure[0])
        known++;
    else if (file->nfs)
        nfs_destroy_context(file->nfs);
    answer(to, "ok %" PRIu64 " %" PRIu64 " %08" PRIx32, file->size, file->largest, crc);
}

static void go(const char *words)
{
    unsigned at, depth;
    uint64_t bytes, calls, begin_ns;
    double per_s;
    struct call *free_calls = phase.free;
    memset(&phase, 0, sizeof phase);
    phase.free = free_calls;
    gone = 0;
    if (sscanf(words, "%u %" SCNu64 " %u %lf %" SCNu64 " %" SCNu64, &at, &bytes, &depth, &per_s, &calls, &begin_ns) != 6 ||
        at >= (unsigned)known || !bytes || bytes > STEP || !depth || files[at].size < bytes) {
        fail("the order is not understood: go %s", words);
        return;
    }
    phase.of = &files[at];
    phase.bytes = bytes;
    phase.end = phase.of->size;
    phase.left = calls ? calls : UINT64_MAX;
    phase.begin_ns = begin_ns;
    phase.spacing_ns = per_s > 0 ? 1e9 / per_s : 0;
    phase.depth = depth;
}

static void stop(FILE *to)
{
    uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ull;
    phase.left = 0;
    /* Also after a call has failed: later answers would be taken for those of the next phase. */
    while (phase.under_way && !gone && now_ns() < until_ns)
        wait_for(-1, until_ns);
    if (phase.under_way)
        fail("%u %ss were not answered within %d s", phase.under_way, name_of(phase.of), PATIENCE_MS / 1000);
    else if (!failure[0] && phase.of && phase.of->operation == WRITE && nfs_fsync(phase.of->nfs, phase.of->handle))
        fail("a COMMIT failed: %s", nfs_get_error(phase.of->nfs));
    phase.of = NULL;
    if (failure[0]) {
        answer(to, "");
        return;
    }
    fprintf(to, "done %" PRIu64, phase.shorter);
    for (unsigned class = 0; class < CLASSES; class++)
        if (phase.late[class])
            fprintf(to, " %" PRIu64 ":%" PRIu64, end_of(class), phase.late[class]);
    putc('\n', to);
    fflush(to);
}

int main(int argc, char **argv)
{
    char line[1024];
    size_t has = 0;
    if (argc != 4)
        return fprintf(stderr, "usage: reader ORDERS ANSWERS COUNTS\n"), 2;
    int orders = open(argv[1], O_RDWR | O_CLOEXEC); /* for writing too: it has no end then */
    int shared = open(argv[3], O_RDWR | O_CLOEXEC);
    FILE *to = fopen(argv[2], "r+e");
    counts = mmap(NULL, 3 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (orders < 0 || !to || counts == MAP_FAILED)
        return perror("reader"), 1;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1);
    answer(to, "ready");
    for (;;) {
        for (;;) {
            uint64_t due_ns = next_due();
            if (due_ns == UINT64_MAX || due_ns > now_ns())
                break;
            if (begin_call(phase.spacing_ns > 0 ? due_ns : now_ns()))
                break;
        }
        if (!wait_for(orders, next_due()))
            continue;
        ssize_t got = read(orders, line + has, sizeof line - 1 - has);
        if (got <= 0)
            return 0;
        has += (size_t)got;
        line[has] = 0;
        for (char *end; (end = strchr(line, '\n'));) {
            *end = 0;
            if (!strncmp(line, "open ", 5))
                open_file(to, line + 5);
            else if (!strncmp(line, "go ", 3))
                go(line + 3);
            else if (!strcmp(line, "stop"))
                stop(to);
            else {
                fail("the order is not understood: %s", line);
                answer(to, "");
            }
            has -= (size_t)(end + 1 - line);
            memmove(line, end + 1, has + 1);
        }
        if (has == sizeof line - 1)
            has = 0; /* no order is so long */
    }
}
