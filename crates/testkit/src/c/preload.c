/* System calls of one process that fail, fall short or take long on demand, by LD_PRELOAD.
 *
 * TESTKIT_PRELOAD holds one rule a line, seven fields with a space between:
 *   CALL  FROM  TO  ERRNO  SHORT  DELAY  TEXT
 * CALL is a name of the list below. The rule applies to the calls numbered FROM to TO (from 1, both included; TO 0: no end)
 * among those of that name whose path contains TEXT (which may be empty, and is the rest of the line). ERRNO 0: do not fail.
 * SHORT: write or copy at most that many bytes; 0: as many as asked for. DELAY: microseconds before the call.
 *
 * A call on a descriptor goes by the path the descriptor has then (/proc/thread-self/fd: threads may have descriptor tables
 * of their own). A close that is to fail closes all the same, as Linux does.
 *
 * Under wine the calls are those of its ntdll.so, so a delayed close delays NtClose, if the handle was read from or written to;
 * an error of close is not passed on there. wineserver, which all programs wait for, has no rules. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call { OPEN, CLOSE, READ, WRITE, FSYNC, SYNCFS, MKDIR, RENAME, UNLINK, LINK, FTRUNCATE, UTIMENS, CHMOD, COPY, CALLS };
static const char *const call_names[CALLS] = {
    "open", "close", "read", "write", "fsync", "syncfs", "mkdir", "rename", "unlink", "link", "ftruncate", "utimens", "chmod",
    "copy",
};

struct rule {
    enum call call;
    unsigned long from, to, most, delay_us;
    int error;
    const char *text;
    atomic_ulong seen;
    struct rule *next;
};
static struct rule *rules;
static bool ruled[CALLS], wants_path[CALLS];

__attribute__((constructor)) static void read_rules(void) {
    char *text = getenv("TESTKIT_PRELOAD");
    if (!strncmp(program_invocation_short_name, "wineserver", strlen("wineserver"))) return;
    if (!text || !(text = strdup(text))) return;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        char name[16];
        int used = 0;
        struct rule *rule = calloc(1, sizeof *rule);
        if (!rule || sscanf(line, "%15s %lu %lu %d %lu %lu%n", name, &rule->from, &rule->to, &rule->error, &rule->most,
                            &rule->delay_us, &used) != 6) {
            fprintf(stderr, "testkit: bad rule in TESTKIT_PRELOAD: %s\n", line);
            _exit(2);
        }
        rule->text = line[used] ? line + used + 1 : "";
        for (rule->call = 0; rule->call < CALLS && strcmp(call_names[rule->call], name); rule->call++) {}
        if (rule->call == CALLS) {
            fprintf(stderr, "testkit: no such call in TESTKIT_PRELOAD: %s\n", name);
            _exit(2);
        }
        ruled[rule->call] = true;
        wants_path[rule->call] |= *rule->text != 0;
        rule->next = rules;
        rules = rule;
    }
}

static void path_of(int fd, char path[PATH_MAX]) {
    char link[48];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = 0;
}

/* Waits and says which error is due, or 0; lowers *most to what may be written. */
static int apply(enum call call, int folder, const char *relative, size_t *most) {
    if (!ruled[call]) return 0;
    char path[2 * PATH_MAX] = "";
    int saved = errno, error = 0;
    unsigned long delay_us = 0;
    if (wants_path[call]) {
        if (relative && (*relative == '/' || folder == AT_FDCWD))
            snprintf(path, sizeof path, "%s", relative);
        else {
            path_of(folder, path);
            if (relative && *relative) snprintf(path + strlen(path), PATH_MAX, "/%s", relative);
        }
    }
    for (struct rule *rule = rules; rule; rule = rule->next) {
        if (rule->call != call || !strstr(path, rule->text)) continue;
        unsigned long number = atomic_fetch_add(&rule->seen, 1) + 1;
        if (number < rule->from || (rule->to && number > rule->to)) continue;
        delay_us += rule->delay_us;
        if (!error) error = rule->error;
        if (most && rule->most && rule->most < *most) *most = rule->most;
    }
    if (delay_us) {
        struct timespec t = {delay_us / 1000000, delay_us % 1000000 * 1000};
        while (nanosleep(&t, &t) == -1 && errno == EINTR) {}
    }
    errno = saved;
    return error;
}

/* The C library's function of the same name. Looked up at each call site once; racing threads find the same. */
#define NEXT(name)                                          \
    static __typeof__(&name) next;                          \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL_IF_DUE(call, folder, relative)                 \
    do {                                                    \
        int due = apply(call, folder, relative, NULL);      \
        if (due) return errno = due, -1;                    \
    } while (0)

#define OPENS(name)                                                   \
    int name(const char *path, int flags, ...) {                      \
        va_list more;                                                 \
        va_start(more, flags);                                        \
        mode_t mode = va_arg(more, mode_t);                           \
        va_end(more);                                                 \
        NEXT(name);                                                   \
        FAIL_IF_DUE(OPEN, AT_FDCWD, path);                            \
        return next(path, flags, mode);                               \
    }
#define OPENS_AT(name)                                                \
    int name(int folder, const char *path, int flags, ...) {          \
        va_list more;                                                 \
        va_start(more, flags);                                        \
        mode_t mode = va_arg(more, mode_t);                           \
        va_end(more);                                                 \
        NEXT(name);                                                   \
        FAIL_IF_DUE(OPEN, folder, path);                              \
        return next(folder, path, flags, mode);                       \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

/* Calls that the C library has no function for. */
long syscall(long number, ...) {
    NEXT(syscall);
    va_list more;
    va_start(more, number);
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_openat2) FAIL_IF_DUE(OPEN, a[0], (const char *)a[1]);
    if (number == SYS_renameat2) FAIL_IF_DUE(RENAME, a[2], (const char *)a[3]);
    if (number == SYS_copy_file_range) {
        size_t most = a[4];
        int due = apply(COPY, a[2], NULL, &most);
        if (due) return errno = due, -1;
        a[4] = most;
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int close(int fd) {
    NEXT(close);
    int due = apply(CLOSE, fd, NULL, NULL);
    int returned = next(fd);
    return due ? (errno = due, -1) : returned;
}

#define READS(name, offset_type)                                      \
    ssize_t name(int fd, void *bytes, size_t size, offset_type offset) { \
        NEXT(name);                                                   \
        int due = apply(READ, fd, NULL, &size);                       \
        return due ? (errno = due, -1) : next(fd, bytes, size, offset); \
    }
READS(pread, off_t)
READS(pread64, off64_t)
ssize_t read(int fd, void *bytes, size_t size) {
    NEXT(read);
    int due = apply(READ, fd, NULL, &size);
    return due ? (errno = due, -1) : next(fd, bytes, size);
}

#define PWRITES(name, offset_type)                                    \
    ssize_t name(int fd, const void *bytes, size_t size, offset_type offset) { \
        NEXT(name);                                                   \
        int due = apply(WRITE, fd, NULL, &size);                      \
        return due ? (errno = due, -1) : next(fd, bytes, size, offset); \
    }
PWRITES(pwrite, off_t)
PWRITES(pwrite64, off64_t)
ssize_t write(int fd, const void *bytes, size_t size) {
    NEXT(write);
    int due = apply(WRITE, fd, NULL, &size);
    return due ? (errno = due, -1) : next(fd, bytes, size);
}

/* Cuts the list so that it holds at most `most` bytes; the caller's own is left alone. */
static int cut(const struct iovec *list, int count, struct iovec *shorter, size_t most) {
    int n = 0;
    for (; n < count && most; n++) {
        shorter[n] = list[n];
        if (shorter[n].iov_len > most) shorter[n].iov_len = most;
        most -= shorter[n].iov_len;
    }
    return n;
}
ssize_t writev(int fd, const struct iovec *list, int count) {
    NEXT(writev);
    struct iovec shorter[IOV_MAX];
    size_t most = SIZE_MAX;
    int due = apply(WRITE, fd, NULL, &most);
    if (due) return errno = due, -1;
    if (most == SIZE_MAX || count > IOV_MAX) return next(fd, list, count);
    return next(fd, shorter, cut(list, count, shorter, most));
}
#define PWRITEVS(name, offset_type)                                   \
    ssize_t name(int fd, const struct iovec *list, int count, offset_type offset) { \
        NEXT(name);                                                   \
        struct iovec shorter[IOV_MAX];                                \
        size_t most = SIZE_MAX;                                       \
        int due = apply(WRITE, fd, NULL, &most);                      \
        if (due) return errno = due, -1;                              \
        if (most == SIZE_MAX || count > IOV_MAX) return next(fd, list, count, offset); \
        return next(fd, shorter, cut(list, count, shorter, most), offset); \
    }
PWRITEVS(pwritev, off_t)
PWRITEVS(pwritev64, off64_t)

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    NEXT(copy_file_range);
    int due = apply(COPY, out, NULL, &size);
    return due ? (errno = due, -1) : next(in, from, out, to, size, flags);
}
#define SENDFILES(name, offset_type)                                  \
    ssize_t name(int out, int in, offset_type *from, size_t size) {   \
        NEXT(name);                                                   \
        int due = apply(COPY, out, NULL, &size);                      \
        return due ? (errno = due, -1) : next(out, in, from, size);   \
    }
ssize_t sendfile(int, int, off_t *, size_t);
ssize_t sendfile64(int, int, off64_t *, size_t);
SENDFILES(sendfile, off_t)
SENDFILES(sendfile64, off64_t)

int fsync(int fd) { NEXT(fsync); FAIL_IF_DUE(FSYNC, fd, NULL); return next(fd); }
int fdatasync(int fd) { NEXT(fdatasync); FAIL_IF_DUE(FSYNC, fd, NULL); return next(fd); }
int syncfs(int fd) { NEXT(syncfs); FAIL_IF_DUE(SYNCFS, fd, NULL); return next(fd); }
int ftruncate(int fd, off_t n) { NEXT(ftruncate); FAIL_IF_DUE(FTRUNCATE, fd, NULL); return next(fd, n); }
int ftruncate64(int fd, off64_t n) { NEXT(ftruncate64); FAIL_IF_DUE(FTRUNCATE, fd, NULL); return next(fd, n); }
int fchmod(int fd, mode_t mode) { NEXT(fchmod); FAIL_IF_DUE(CHMOD, fd, NULL); return next(fd, mode); }
int futimens(int fd, const struct timespec times[2]) {
    NEXT(futimens);
    FAIL_IF_DUE(UTIMENS, fd, NULL);
    return next(fd, times);
}

int mkdir(const char *path, mode_t mode) { NEXT(mkdir); FAIL_IF_DUE(MKDIR, AT_FDCWD, path); return next(path, mode); }
int rmdir(const char *path) { NEXT(rmdir); FAIL_IF_DUE(UNLINK, AT_FDCWD, path); return next(path); }
int unlink(const char *path) { NEXT(unlink); FAIL_IF_DUE(UNLINK, AT_FDCWD, path); return next(path); }
int rename(const char *from, const char *to) { NEXT(rename); FAIL_IF_DUE(RENAME, AT_FDCWD, to); return next(from, to); }
int link(const char *from, const char *to) { NEXT(link); FAIL_IF_DUE(LINK, AT_FDCWD, to); return next(from, to); }
int symlink(const char *target, const char *path) {
    NEXT(symlink);
    FAIL_IF_DUE(LINK, AT_FDCWD, path);
    return next(target, path);
}
int chmod(const char *path, mode_t mode) { NEXT(chmod); FAIL_IF_DUE(CHMOD, AT_FDCWD, path); return next(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) {
    NEXT(mkdirat);
    FAIL_IF_DUE(MKDIR, folder, path);
    return next(folder, path, mode);
}
int unlinkat(int folder, const char *path, int flags) {
    NEXT(unlinkat);
    FAIL_IF_DUE(UNLINK, folder, path);
    return next(folder, path, flags);
}
int renameat(int from_folder, const char *from, int folder, const char *to) {
    NEXT(renameat);
    FAIL_IF_DUE(RENAME, folder, to);
    return next(from_folder, from, folder, to);
}
int renameat2(int from_folder, const char *from, int folder, const char *to, unsigned flags) {
    NEXT(renameat2);
    FAIL_IF_DUE(RENAME, folder, to);
    return next(from_folder, from, folder, to, flags);
}
int linkat(int from_folder, const char *from, int folder, const char *to, int flags) {
    NEXT(linkat);
    FAIL_IF_DUE(LINK, folder, to);
    return next(from_folder, from, folder, to, flags);
}
int symlinkat(const char *target, int folder, const char *path) {
    NEXT(symlinkat);
    FAIL_IF_DUE(LINK, folder, path);
    return next(target, folder, path);
}
int fchmodat(int folder, const char *path, mode_t mode, int flags) {
    NEXT(fchmodat);
    FAIL_IF_DUE(CHMOD, folder, path);
    return next(folder, path, mode, flags);
}
int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
    NEXT(utimensat);
    FAIL_IF_DUE(UTIMENS, folder, path);
    return next(folder, path, times, flags);
}
