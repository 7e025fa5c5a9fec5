/* System calls of one process that fail, fall short or take long on demand, by LD_PRELOAD.
 *
 * TESTKIT_PRELOAD holds one rule a line, seven fields with a space between:
 *   CALL  FROM  TO  ERRNO  SHORT  DELAY  TEXT
 * CALL is a name of the list below. The rule applies to the calls numbered FROM to TO (from 1, both included; TO 0: no end)
 * among those of that name whose path contains TEXT (which may be empty, and is the rest of the line). ERRNO 0: do not fail.
 * SHORT: write or copy at most that many bytes; 0: as many as asked for. DELAY: microseconds before the call.
 *
 * TESTKIT_PRELOAD_FIRED names a file that gets a line, "CALL ERRNO KIND PATH", for each call that a rule failed, cut short or
 * delayed. KIND: d for an open folder, r and w for what is open for reading alone or for writing, - for a path.
 *
 * A relative path is one below the current folder. A call on a descriptor goes by the path the descriptor has then (/proc/thread-self/fd: threads may have descriptor tables
 * of their own). A close that is to fail closes all the same, as Linux does.
 *
 * Under wine the calls are those of its ntdll.so, so a delayed close delays NtClose, if the handle was read from or written to;
 * an error of close is not passed on there. wineserver, which all programs wait for, has no rules. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call {
    OPEN, CLOSE, READ, WRITE, FSYNC, SYNCFS, MKDIR, RENAME, UNLINK, LINK, FTRUNCATE, UTIMENS, CHMOD, COPY, STAT, LIST, CHOWN,
    RESERVE, READLINK, LOCK, MAP, THREAD, SYNCRANGE, XATTR, FLAGS, CALLS, ANY
};
static const char *const call_names[ANY + 1] = {
    "open", "close", "read", "write", "fsync", "syncfs", "mkdir", "rename", "unlink", "link", "ftruncate", "utimens", "chmod",
    "copy", "stat", "list", "chown", "reserve", "readlink", "lock", "map", "thread", "syncrange", "xattr", "flags", "",
    "any",
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
static int fired_fd = -1;

static void note(enum call call, int error, int fd, const char *path);

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
        for (rule->call = 0; rule->call <= ANY && strcmp(call_names[rule->call], name); rule->call++) {}
        if (rule->call > ANY) {
            fprintf(stderr, "testkit: no such call in TESTKIT_PRELOAD: %s\n", name);
            _exit(2);
        }
        for (int call = 0; call < CALLS; call++) {
            if (rule->call != ANY && rule->call != (enum call)call) continue;
            ruled[call] = true;
            wants_path[call] |= *rule->text != 0;
        }
        rule->next = rules;
        rules = rule;
    }
    const char *fired = getenv("TESTKIT_PRELOAD_FIRED");
    if (!fired) return;
    /* By the system call, so that this needs none of the functions below; with a number that no program closes by itself. */
    int fd = syscall(SYS_openat, AT_FDCWD, fired, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    fired_fd = fcntl(fd, F_DUPFD_CLOEXEC, 700);
    if (fired_fd == -1) fired_fd = fd;
    else syscall(SYS_close, fd);
    if (fired_fd == -1) {
        fprintf(stderr, "testkit: cannot open TESTKIT_PRELOAD_FIRED: %s\n", fired);
        _exit(2);
    }
}

/* By the system call itself: what looks for a path is no call of the program's. */
static void path_of(int fd, char path[PATH_MAX]) {
    char link[48];
    if (fd == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = 0;
}

static void note(enum call call, int error, int fd, const char *path) {
    char line[2 * PATH_MAX + 64], kind = '-';
    if (fired_fd == -1) return;
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags != -1) {
        struct statx st = {0};
        syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st);
        kind = S_ISDIR(st.stx_mode) ? 'd' : (flags & O_ACCMODE) == O_RDONLY ? 'r' : 'w';
    }
    int n = snprintf(line, sizeof line, "%s %d %c %s\n", call_names[call], error, kind, path);
    if (syscall(SYS_write, fired_fd, line, (size_t)n) != n) _exit(2);
}

/* Waits and says which error is due, or 0; lowers *most to what may be written. */
static int apply(enum call call, int folder, const char *relative, size_t *most) {
    if (!ruled[call]) return 0;
    char path[2 * PATH_MAX] = "";
    int saved = errno, error = 0;
    unsigned long delay_us = 0;
    bool due = false;
    if (wants_path[call]) {
        if (relative && *relative == '/')
            snprintf(path, sizeof path, "%s", relative);
        else {
            path_of(folder, path);
            if (relative && *relative) snprintf(path + strlen(path), PATH_MAX, "/%s", relative);
        }
    }
    for (struct rule *rule = rules; rule; rule = rule->next) {
        if ((rule->call != call && rule->call != ANY) || !strstr(path, rule->text)) continue;
        if (!most && !rule->error && !rule->delay_us) continue; /* this one cannot fall short */
        unsigned long number = atomic_fetch_add(&rule->seen, 1) + 1;
        if (number < rule->from || (rule->to && number > rule->to)) continue;
        due = true;
        delay_us += rule->delay_us;
        if (!error) error = rule->error;
        if (most && rule->most && rule->most < *most) *most = rule->most;
    }
    if (due) note(call, error, relative ? -1 : folder, path);
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

/* The same with the C library's checks, as programs of distributions have them. */
#define CHECKED_OPENS(name)                                           \
    int name(const char *path, int flags);                            \
    int name(const char *path, int flags) { NEXT(name); FAIL_IF_DUE(OPEN, AT_FDCWD, path); return next(path, flags); }
#define CHECKED_OPENS_AT(name)                                        \
    int name(int folder, const char *path, int flags);                \
    int name(int folder, const char *path, int flags) {               \
        NEXT(name);                                                   \
        FAIL_IF_DUE(OPEN, folder, path);                              \
        return next(folder, path, flags);                             \
    }
CHECKED_OPENS(__open_2)
CHECKED_OPENS(__open64_2)
CHECKED_OPENS_AT(__openat_2)
CHECKED_OPENS_AT(__openat64_2)
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room) {
    NEXT(__read_chk);
    int due = apply(READ, fd, NULL, &size);
    return due ? (errno = due, -1) : next(fd, bytes, size, room);
}

DIR *opendir(const char *path) {
    NEXT(opendir);
    int due = apply(LIST, AT_FDCWD, path, NULL);
    return due ? (errno = due, NULL) : next(path);
}
DIR *fdopendir(int fd) {
    NEXT(fdopendir);
    int due = apply(LIST, fd, NULL, NULL);
    return due ? (errno = due, NULL) : next(fd);
}
#define LISTS(name, entry)                                            \
    struct entry *name(DIR *dir) {                                    \
        NEXT(name);                                                   \
        int due = apply(LIST, dirfd(dir), NULL, NULL);                \
        return due ? (errno = due, NULL) : next(dir);                 \
    }
LISTS(readdir, dirent)
LISTS(readdir64, dirent64)

#define STATS(name, status)                                           \
    int name(const char *path, struct status *st) { NEXT(name); FAIL_IF_DUE(STAT, AT_FDCWD, path); return next(path, st); }
STATS(stat, stat)
STATS(stat64, stat64)
STATS(lstat, stat)
STATS(lstat64, stat64)
#define STATS_OPEN(name, status)                                      \
    int name(int fd, struct status *st) { NEXT(name); FAIL_IF_DUE(STAT, fd, NULL); return next(fd, st); }
STATS_OPEN(fstat, stat)
STATS_OPEN(fstat64, stat64)
#define STATS_AT(name, status)                                        \
    int name(int folder, const char *path, struct status *st, int flags) { \
        NEXT(name);                                                   \
        FAIL_IF_DUE(STAT, folder, path);                              \
        return next(folder, path, st, flags);                         \
    }
STATS_AT(fstatat, stat)
STATS_AT(fstatat64, stat64)
int statx(int folder, const char *path, int flags, unsigned mask, struct statx *st) {
    NEXT(statx);
    /* Without a path it only finds out whether the system has this call. (The header says that there is none such.) */
    const char *volatile given = path;
    if (given) FAIL_IF_DUE(STAT, folder, path);
    return next(folder, path, flags, mask, st);
}

int fchown(int fd, uid_t user, gid_t group) { NEXT(fchown); FAIL_IF_DUE(CHOWN, fd, NULL); return next(fd, user, group); }
int fchownat(int folder, const char *path, uid_t user, gid_t group, int flags) {
    NEXT(fchownat);
    FAIL_IF_DUE(CHOWN, folder, path);
    return next(folder, path, user, group, flags);
}
int chown(const char *path, uid_t user, gid_t group) {
    NEXT(chown);
    FAIL_IF_DUE(CHOWN, AT_FDCWD, path);
    return next(path, user, group);
}
int lchown(const char *path, uid_t user, gid_t group) {
    NEXT(lchown);
    FAIL_IF_DUE(CHOWN, AT_FDCWD, path);
    return next(path, user, group);
}

#define RESERVES(name, offset_type)                                   \
    int name(int fd, int mode, offset_type from, offset_type length) { \
        NEXT(name);                                                   \
        FAIL_IF_DUE(RESERVE, fd, NULL);                               \
        return next(fd, mode, from, length);                          \
    }
RESERVES(fallocate, off_t)
RESERVES(fallocate64, off64_t)
/* These two return the error's number. */
#define RESERVES_POSIX(name, offset_type)                             \
    int name(int fd, offset_type from, offset_type length) {          \
        NEXT(name);                                                   \
        int due = apply(RESERVE, fd, NULL, NULL);                     \
        return due ? due : next(fd, from, length);                    \
    }
RESERVES_POSIX(posix_fallocate, off_t)
RESERVES_POSIX(posix_fallocate64, off64_t)
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *with) {
    NEXT(pthread_create);
    int due = apply(THREAD, -1, NULL, NULL);
    return due ? due : next(thread, attributes, run, with);
}

ssize_t readlink(const char *path, char *bytes, size_t size) {
    NEXT(readlink);
    FAIL_IF_DUE(READLINK, AT_FDCWD, path);
    return next(path, bytes, size);
}
ssize_t readlinkat(int folder, const char *path, char *bytes, size_t size) {
    NEXT(readlinkat);
    FAIL_IF_DUE(READLINK, folder, path);
    return next(folder, path, bytes, size);
}
int flock(int fd, int operation) { NEXT(flock); FAIL_IF_DUE(LOCK, fd, NULL); return next(fd, operation); }
#define MAPS(name, offset_type)                                       \
    void *name(void *at, size_t size, int rights, int flags, int fd, offset_type from) { \
        NEXT(name);                                                   \
        int due = fd == -1 ? 0 : apply(MAP, fd, NULL, NULL);          \
        return due ? (errno = due, MAP_FAILED) : next(at, size, rights, flags, fd, from); \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)
int sync_file_range(int fd, off64_t from, off64_t length, unsigned flags) {
    NEXT(sync_file_range);
    FAIL_IF_DUE(SYNCRANGE, fd, NULL);
    return next(fd, from, length, flags);
}

/* Calls that the C library has no function for, and those that Rust programs make past it. */
long syscall(long number, ...) {
    NEXT(syscall);
    va_list more;
    va_start(more, number);
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_openat2) FAIL_IF_DUE(OPEN, a[0], (const char *)a[1]);
    if (number == SYS_renameat2) FAIL_IF_DUE(RENAME, a[2], (const char *)a[3]);
    if (number == SYS_fchmod) FAIL_IF_DUE(CHMOD, a[0], NULL);
    if (number == SYS_fchmodat) FAIL_IF_DUE(CHMOD, a[0], (const char *)a[1]);
    if (number == SYS_fchown) FAIL_IF_DUE(CHOWN, a[0], NULL);
    if (number == SYS_getdents64) FAIL_IF_DUE(LIST, a[0], NULL);
    if (number == SYS_syncfs) FAIL_IF_DUE(SYNCFS, a[0], NULL);
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

#define FD_XATTRS(result, name, args, given)                          \
    result name args;                                                 \
    result name args { NEXT(name); FAIL_IF_DUE(XATTR, fd, NULL); return next given; }
#define PATH_XATTRS(result, name, args, given)                        \
    result name args;                                                 \
    result name args { NEXT(name); FAIL_IF_DUE(XATTR, AT_FDCWD, path); return next given; }
FD_XATTRS(ssize_t, flistxattr, (int fd, char *names, size_t size), (fd, names, size))
FD_XATTRS(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t size), (fd, name, value, size))
FD_XATTRS(int, fsetxattr, (int fd, const char *name, const void *value, size_t size, int how), (fd, name, value, size, how))
FD_XATTRS(int, fremovexattr, (int fd, const char *name), (fd, name))
PATH_XATTRS(ssize_t, listxattr, (const char *path, char *names, size_t size), (path, names, size))
PATH_XATTRS(ssize_t, llistxattr, (const char *path, char *names, size_t size), (path, names, size))
PATH_XATTRS(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size), (path, name, value, size))
PATH_XATTRS(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size), (path, name, value, size))
PATH_XATTRS(int, setxattr, (const char *path, const char *name, const void *value, size_t size, int how),
            (path, name, value, size, how))
PATH_XATTRS(int, lsetxattr, (const char *path, const char *name, const void *value, size_t size, int how),
            (path, name, value, size, how))
PATH_XATTRS(int, removexattr, (const char *path, const char *name), (path, name))
PATH_XATTRS(int, lremovexattr, (const char *path, const char *name), (path, name))

/* Flags of files, and where their space is. All other commands go past. */
int ioctl(int fd, unsigned long command, ...);
int ioctl(int fd, unsigned long command, ...) {
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    NEXT(ioctl);
    /* FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_IOC_FIEMAP, FS_IOC_FSGETXATTR */
    unsigned short which = command & 0xffff;
    if (which == 0x6601 || which == 0x6602 || which == 0x660b || which == 0x581f) FAIL_IF_DUE(FLAGS, fd, NULL);
    return next(fd, command, argument);
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
int mknodat(int folder, const char *path, mode_t mode, dev_t device) {
    NEXT(mknodat);
    FAIL_IF_DUE(LINK, folder, path);
    return next(folder, path, mode, device);
}
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
