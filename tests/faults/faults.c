/* Faults of files, put before the C library (LD_PRELOAD): the Nth change below a folder fails.
 *
 * fault_arm(folder, n, kind) begins to count the changes that this process and its threads make below
 * the folder; the nth one meets its fault. n = 0 only counts. fault_seen() returns how many there were.
 *
 *   enospc  no space left, from here on, for everything that needs space
 *   eio     this one fails with an input/output error
 *   kill    the process is killed before it
 *   torn    half of a write reaches the file, then the process is killed
 *   slow    this one takes 50 ms
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OFF, ENOSPC_, EIO_, KILL_, TORN_, SLOW_ };
enum { NEEDS_SPACE = 1, IS_WRITE = 2 };
static char below[PATH_MAX];
static size_t below_length;
static atomic_long seen, at;
static atomic_int kind, full, armed;

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

void fault_arm(const char *folder, long n, const char *word) {
    snprintf(below, sizeof below, "%s/", folder);
    below_length = strlen(below);
    seen = 0;
    at = n;
    full = 0;
    kind = !strcmp(word, "enospc") ? ENOSPC_ : !strcmp(word, "eio") ? EIO_
         : !strcmp(word, "kill") ? KILL_ : !strcmp(word, "torn") ? TORN_
         : !strcmp(word, "slow") ? SLOW_ : OFF;
    armed = 1;
}

long fault_seen(void) { return seen; }

static int is_below(const char *path) {
    char whole[PATH_MAX];
    if (!armed || path == NULL) return 0;
    if (path[0] != '/') {
        if (getcwd(whole, sizeof whole) == NULL) return 0;
        size_t length = strlen(whole);
        snprintf(whole + length, sizeof whole - length, "/%s", path);
        path = whole;
    }
    return strncmp(path, below, below_length) == 0;
}

static int fd_below(int fd) {
    char link[64], path[PATH_MAX];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, below, below_length) == 0;
}

/* 0: go on; -1: errno is set; 1: write half, then die */
static int point(int traits) {
    if (full && (traits & NEEDS_SPACE)) { errno = ENOSPC; return -1; }
    if (atomic_fetch_add(&seen, 1) + 1 != at) return 0;
    switch (kind) {
    case ENOSPC_:
        full = 1;
        if (!(traits & NEEDS_SPACE)) return 0;
        errno = ENOSPC;
        return -1;
    case EIO_: errno = EIO; return -1;
    case KILL_: kill(getpid(), SIGKILL); pause(); return 0;
    case TORN_:
        if (traits & IS_WRITE) return 1;
        kill(getpid(), SIGKILL); pause(); return 0;
    case SLOW_: usleep(50000); return 0;
    default: return 0;
    }
}

#define DIE_TORN() do { kill(getpid(), SIGKILL); pause(); } while (0)

ssize_t write(int fd, const void *buffer, size_t count) {
    REAL(write);
    if (fd > 2 && fd_below(fd)) {
        int what = point(NEEDS_SPACE | IS_WRITE);
        if (what < 0) return -1;
        if (what > 0) { real(fd, buffer, count / 2); DIE_TORN(); }
    }
    return real(fd, buffer, count);
}

ssize_t pwrite(int fd, const void *buffer, size_t count, off_t offset) {
    REAL(pwrite);
    if (fd > 2 && fd_below(fd)) {
        int what = point(NEEDS_SPACE | IS_WRITE);
        if (what < 0) return -1;
        if (what > 0) { real(fd, buffer, count / 2, offset); DIE_TORN(); }
    }
    return real(fd, buffer, count, offset);
}

ssize_t pwrite64(int fd, const void *buffer, size_t count, off64_t offset) {
    REAL(pwrite64);
    if (fd > 2 && fd_below(fd)) {
        int what = point(NEEDS_SPACE | IS_WRITE);
        if (what < 0) return -1;
        if (what > 0) { real(fd, buffer, count / 2, offset); DIE_TORN(); }
    }
    return real(fd, buffer, count, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    if (fd > 2 && fd_below(fd)) {
        int what = point(NEEDS_SPACE | IS_WRITE);
        if (what < 0) return -1;
        if (what > 0) { real(fd, parts, count / 2); DIE_TORN(); }
    }
    return real(fd, parts, count);
}

#define OPEN(name)                                                        \
    int name(const char *path, int flags, ...) {                          \
        REAL(name);                                                       \
        mode_t mode = 0;                                                  \
        if (flags & (O_CREAT | O_TMPFILE)) {                              \
            va_list more; va_start(more, flags);                          \
            mode = va_arg(more, mode_t); va_end(more);                    \
        }                                                                 \
        if ((flags & (O_CREAT | O_TRUNC)) && is_below(path)               \
            && point(NEEDS_SPACE) < 0) return -1;                         \
        return real(path, flags, mode);                                   \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                      \
    int name(int folder, const char *path, int flags, ...) {              \
        REAL(name);                                                       \
        mode_t mode = 0;                                                  \
        if (flags & (O_CREAT | O_TMPFILE)) {                              \
            va_list more; va_start(more, flags);                          \
            mode = va_arg(more, mode_t); va_end(more);                    \
        }                                                                 \
        if ((flags & (O_CREAT | O_TRUNC)) && folder == AT_FDCWD           \
            && is_below(path) && point(NEEDS_SPACE) < 0) return -1;       \
        return real(folder, path, flags, mode);                           \
    }
OPENAT(openat)
OPENAT(openat64)

FILE *fopen(const char *path, const char *mode) {
    REAL(fopen);
    if (strpbrk(mode, "wa") && is_below(path) && point(NEEDS_SPACE) < 0) return NULL;
    return real(path, mode);
}

#define ON_FD(name)                                                       \
    int name(int fd) {                                                    \
        REAL(name);                                                       \
        if (fd_below(fd) && point(NEEDS_SPACE) < 0) return -1;            \
        return real(fd);                                                  \
    }
ON_FD(fsync)
ON_FD(fdatasync)

int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    if (fd_below(fd) && point(NEEDS_SPACE) < 0) return -1;
    return real(fd, length);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    if ((is_below(to) || is_below(from)) && point(0) < 0) return -1;
    return real(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
    REAL(renameat);
    if ((is_below(to) || is_below(from)) && point(0) < 0) return -1;
    return real(a, from, b, to);
}

int unlink(const char *path) {
    REAL(unlink);
    if (is_below(path) && point(0) < 0) return -1;
    return real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    if (is_below(path) && point(NEEDS_SPACE) < 0) return -1;
    return real(path, mode);
}
