/* A folder seen through FUSE, with delays and errors on demand: a network file system for tests.
 *
 * Environment:
 *   SLOWFS_BACKING  the folder that is shown
 *   SLOWFS_DELAY    "flush=2000,open=2000": microseconds per operation
 *   SLOWFS_FAIL     one rule a line, "OPERATION ERRNO TEXT": the operation fails with that number for every path that has TEXT
 *   SLOWFS_ONCE     one rule a line, "OPERATION ERRNO NTH TEXT": the NTHth such operation (from 1) on a path that has TEXT fails, and
 *                   no other
 *   SLOWFS_SPACE    when so many bytes have been written in all, a write fails with ENOSPC
 *   SLOWFS_SHORT    reads and writes move at most so many bytes
 *   SLOWFS_JITTER   "MICROSECONDS SEED": each operation takes up to so much longer
 *   SLOWFS_HOLD     one rule a line, "OPERATION TEXT": the operation waits for every path that has TEXT, until SLOWFS_FREE is there,
 *                   the parent has gone, or a minute has passed
 *   SLOWFS_FREE     a path outside of the mount
 *   SLOWFS_LIKE     words: "writeback": the kernel keeps what is written until it must send it, at the latest at a close;
 *                   "fold": names that differ in the case of ASCII letters are one, and stay as they were first written;
 *                   "plain": paths are built for every call, and a removed file that is open lives on as .fuse_hidden…, as with
 *                   most FUSE file systems; "publish": what is written to a file is seen by others after its close alone;
 *                   "fat": as Linux shows FAT: all modes are 0755, a chmod says it is done and does nothing, a chown to another
 *                   user fails, times are even seconds, and links, reserving and renames with flags fail
 *   SLOWFS_LIE      files whose paths have this text say that their length is 0, as those of /proc do
 *   SLOWFS_LOG      a file that gets a line for each flush, rename, link and unlink that has been made, for each cut to nothing, for each
 *                   operation that is held, and for each that fails once
 *   SLOWFS_RECORD   a file that gets every change of bytes and names and every sync, in order, as `struct change` and its bytes say: what
 *                   a power cut at any of them leaves can be reckoned from it. A sync of a file that fails puts back the bytes of
 *                   before the last one that succeeded: programs see the new ones until the kernel drops its pages
 *
 * Operations: open (of what exists), create, read, write, flush (once per close(2), which waits for it), fsync, mkdir,
 * unlink (rmdir too), rename, link (symlink too), setattr (chmod, chown, truncate, utimens).
 *
 * A delayed request sleeps on a thread of its own, so delays overlap; the parent says how many threads with -o max_threads.
 * When the standard input ends, because the parent closed it or died, the mount goes away. */
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE
#include <fuse3/fuse.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum op { OPEN, CREATE, READ, WRITE, FLUSH, FSYNC, MKDIR, UNLINK, RENAME, LINK, SETATTR, OPS };
static const char *const op_names[OPS] = {
    "open", "create", "read", "write", "flush", "fsync", "mkdir", "unlink", "rename", "link", "setattr",
};

struct rule {
    enum op op;
    int error;
    const char *text;
    struct rule *next;
    long nth;
    atomic_long seen;
};

/* An open file keeps the errors its path has earned, since write and flush are not told the path. */
struct handle {
    int fd;
    int error[OPS];
    bool held[OPS];
    int published; /* where the contents go at a close; -1: fd is the file itself */
    char *path;    /* for the log, and for errors that are due once */
};

static int backing; /* the folder, open: paths below are opened relative to it */
static long delay_us[OPS];
static struct rule *rules, *holds, *onces;
static long space = -1, jitter_us; /* no limit; none */
static atomic_long spent;
static size_t most_at_once = SIZE_MAX;
static _Atomic uint64_t jitter_state;
static const char *free_path;
static volatile bool leaving; /* the parent has gone */
static struct fuse *instance;
static bool writeback, plain, publish, fold, fat;
static const char *lie; /* a part of the paths that it concerns */
static int log_fd = -1, record_fd = -1;

/* FUSE's paths start with a slash; ours are relative to the backing folder. */
static const char *rel(const char *path) {
    static __thread char buffers[4][PATH_MAX];
    static __thread unsigned next;
    if (!path[1]) return ".";
    if (!fold) return path + 1;
    /* Part for part: the name as it is given, or the one in the folder that differs in case only. */
    char *found = buffers[next++ % 4];
    size_t length = 0;
    for (const char *part = path + 1; *part;) {
        size_t size = strcspn(part, "/");
        found[length] = 0;
        int folder = openat(backing, length ? found : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (length) found[length++] = '/';
        if (length + size >= PATH_MAX) abort();
        memcpy(found + length, part, size);
        found[length + size] = 0;
        DIR *dir = folder == -1 ? NULL : fdopendir(folder);
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            if (!strcasecmp(entry->d_name, found + length)) memcpy(found + length, entry->d_name, size);
        if (dir) closedir(dir);
        length += size;
        part += size + (part[size] == '/');
    }
    return found;
}
static struct handle *handle_of(const struct fuse_file_info *fi) { return (struct handle *)(uintptr_t)fi->fh; }
static int result(int returned) { return returned == -1 ? -errno : 0; }

static int error_for(enum op op, const char *path) {
    for (const struct rule *r = rules; r; r = r->next)
        if (r->op == op && strstr(path, r->text)) return r->error;
    return 0;
}

static void wait_for(enum op op) {
    long us = delay_us[op];
    if (jitter_us) {
        uint64_t z = atomic_fetch_add(&jitter_state, 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        us += (z ^ (z >> 27)) % (jitter_us + 1);
    }
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    if (us)
        while (nanosleep(&t, &t) == -1 && errno == EINTR) {}
}

static bool is_held(enum op op, const char *path) {
    for (const struct rule *r = holds; r; r = r->next)
        if (r->op == op && strstr(path, r->text)) return true;
    return false;
}

/* One write, so that lines of several threads do not mix. */
static void note(const char *what, const char *path) {
    char line[2 * PATH_MAX];
    int n = snprintf(line, sizeof line, "%s %s\n", what, path ?: "");
    if (log_fd != -1 && write(log_fd, line, n) != n) abort();
}

/* What is recorded. Files and folders go by their inode numbers. */
enum { MADE, LINKED, RENAMED, REMOVED, WROTE, LENGTH, SYNCED, FAILED };
struct change {
    uint64_t kind, file, folder, folder_to, at, size; /* then `size` bytes: what was written, or names, with a 0 between two */
};
/* A change and its record are one step. */
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;
static void step_begins(void) {
    if (record_fd != -1) pthread_mutex_lock(&recording);
}
static int step_ends(int returned) {
    if (record_fd != -1) pthread_mutex_unlock(&recording);
    return returned;
}

static void record(struct change change, const char *bytes) {
    struct iovec parts[2] = {{&change, sizeof change}, {(void *)bytes, change.size}};
    if (writev(record_fd, parts, 2) != (ssize_t)(sizeof change + change.size)) abort();
}

static uint64_t inode_at(const char *relative) {
    struct stat st;
    return fstatat(backing, relative, &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_ino;
}
static uint64_t folder_of(const char *relative) {
    char folder[PATH_MAX];
    const char *slash = strrchr(relative, '/');
    if (!slash) return inode_at(".");
    memcpy(folder, relative, slash - relative);
    folder[slash - relative] = 0;
    return inode_at(folder);
}
static const char *name_of(const char *relative) {
    const char *slash = strrchr(relative, '/');
    return slash ? slash + 1 : relative;
}

/* A name was made, linked or removed. For a new symbolic link, `more` is its target. */
static void record_name(int kind, const char *path, uint64_t type, const char *more) {
    if (record_fd == -1) return;
    char names[2 * PATH_MAX];
    const char *relative = rel(path);
    int n = snprintf(names, sizeof names, "%s%c%s", name_of(relative), 0, more ?: "");
    record((struct change){kind, kind == REMOVED ? 0 : inode_at(relative), folder_of(relative), 0, type, n}, names);
}
static void record_length(int fd) {
    struct stat st;
    if (record_fd != -1 && !fstat(fd, &st)) record((struct change){LENGTH, st.st_ino, 0, 0, st.st_size, 0}, "");
}

/* The bytes that were there before a write, the last write first, until a sync of the file succeeds. */
static struct undo {
    uint64_t file;
    off_t at;
    size_t size;
    struct undo *before;
    char bytes[];
} *undos;
static void keep_for_undo(int fd, uint64_t file, size_t size, off_t at) {
    struct undo *undo = calloc(1, sizeof *undo + size);
    if (!undo) abort();
    if (pread(fd, undo->bytes, size, at) == -1) abort();
    undo->file = file, undo->at = at, undo->size = size, undo->before = undos;
    undos = undo;
}
static void sync_recorded(int fd, int error) {
    struct stat st;
    if (fstat(fd, &st)) abort();
    int own = -1;
    if (error) {
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        if ((own = open(self, O_RDWR | O_CLOEXEC)) == -1 || fstat(own, &st)) abort();
    }
    for (struct undo **at = &undos, *undo; (undo = *at);) {
        if (undo->file != st.st_ino) {
            at = &undo->before;
            continue;
        }
        off_t left = st.st_size - undo->at; /* the length stays */
        size_t size = left < 0 ? 0 : (off_t)undo->size < left ? undo->size : (size_t)left;
        if (error && size) {
            if (pwrite(own, undo->bytes, size, undo->at) != (ssize_t)size) abort();
            record((struct change){WROTE, st.st_ino, 0, 0, undo->at, size}, undo->bytes);
        }
        *at = undo->before;
        free(undo);
    }
    if (own != -1) close(own);
    record((struct change){error ? FAILED : SYNCED, st.st_ino, 0, 0, 0, 0}, "");
}

/* An error that is due once: at this operation, or 0. */
static int error_once(enum op op, const char *path) {
    for (struct rule *r = onces; r; r = r->next)
        if (r->op == op && strstr(path, r->text) && atomic_fetch_add(&r->seen, 1) + 1 == r->nth) {
            char what[32];
            snprintf(what, sizeof what, "failed %s", op_names[op]);
            note(what, path);
            return r->error;
        }
    return 0;
}

/* Never for longer than a minute, so that no test leaves a mount behind that hangs. */
static void hold(enum op op, const char *path) {
    const struct timespec pause = {0, 1000000};
    char what[32];
    snprintf(what, sizeof what, "held %s", op_names[op]);
    note(what, path);
    for (int ms = 0; ms < 60000 && !leaving && access(free_path, F_OK); ms++) nanosleep(&pause, NULL);
}

/* What every operation begins with: its delay and its hold, then its error (negative), or 0. */
static int begin(enum op op, const char *path) {
    wait_for(op);
    if (is_held(op, path)) hold(op, path);
    int error = error_once(op, path);
    return -(error ? error : error_for(op, path));
}
static int begin_on(enum op op, const struct fuse_file_info *fi) {
    wait_for(op);
    if (handle_of(fi)->held[op]) hold(op, handle_of(fi)->path);
    int error = onces ? error_once(op, handle_of(fi)->path) : 0;
    return -(error ? error : handle_of(fi)->error[op]);
}

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi) {
    bool own = fi && handle_of(fi)->published != -1;
    int returned = fi && !own ? fstat(handle_of(fi)->fd, st) : fstatat(backing, rel(path), st, AT_SYMLINK_NOFOLLOW);
    /* A handle sees what was written by it. */
    struct stat unpublished;
    if (!returned && own && !fstat(handle_of(fi)->fd, &unpublished)) st->st_size = unpublished.st_size;
    if (!returned && lie && path && strstr(path, lie) && S_ISREG(st->st_mode)) st->st_size = st->st_blocks = 0;
    if (!returned && fat) {
        st->st_mode = (st->st_mode & S_IFMT) | 0755;
        st->st_uid = st->st_gid = 0;
        st->st_mtim = (struct timespec){st->st_mtim.tv_sec & ~1L, 0};
        st->st_ctim = (struct timespec){st->st_ctim.tv_sec & ~1L, 0};
    }
    return result(returned);
}

static int fs_opendir(const char *path, struct fuse_file_info *fi) {
    int fd = openat(backing, rel(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1) return -errno;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int error = errno;
        close(fd);
        return -error;
    }
    fi->fh = (uintptr_t)dir;
    return 0;
}

static int fs_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *fi,
                      enum fuse_readdir_flags flags) {
    (void)path, (void)offset, (void)flags;
    DIR *dir = (DIR *)(uintptr_t)fi->fh;
    rewinddir(dir);
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry) return -errno;
        struct stat st = {.st_ino = entry->d_ino, .st_mode = DTTOIF(entry->d_type)};
        if (fill(buffer, entry->d_name, &st, 0, 0)) return -ENOMEM;
    }
}

static int fs_releasedir(const char *path, struct fuse_file_info *fi) {
    (void)path;
    return result(closedir((DIR *)(uintptr_t)fi->fh));
}

static int open_as(enum op op, const char *path, int flags, mode_t mode, struct fuse_file_info *fi) {
    int refused = begin(op, path);
    if (refused) return refused;
    struct handle *handle = calloc(1, sizeof *handle);
    if (!handle) return -ENOMEM;
    /* O_APPEND is the kernel's to carry out: it sends the offsets. (To the kernel two spellings are two files,
       each with a length of its own: there it is ours. So it is for what has not been published, whose length the
       kernel does not know.) Before it writes a part of a page back, it reads it. */
    if (!fold && !publish) flags &= ~O_APPEND;
    if (writeback && (flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR;
    handle->published = -1;
    handle->fd = -1;
    if (record_fd != -1 && (flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR; /* for undoing */
    bool apart = publish && (flags & O_ACCMODE) != O_RDONLY;
    step_begins();
    bool is_new = record_fd != -1 && !inode_at(rel(path));
    int file = openat(backing, rel(path), (apart ? (flags & ~(O_TRUNC | O_APPEND | O_ACCMODE)) | O_RDWR : flags) | O_CLOEXEC, mode);
    if (apart && file != -1) {
        handle->published = file;
        handle->fd = memfd_create("unpublished", MFD_CLOEXEC);
        off_t from = 0;
        if (handle->fd != -1 && !(flags & O_TRUNC))
            while (sendfile(handle->fd, file, &from, 1 << 20) > 0) {}
        /* Not before: sendfile refuses to append. */
        if (handle->fd != -1 && flags & O_APPEND) fcntl(handle->fd, F_SETFL, O_APPEND);
    } else {
        handle->fd = file;
    }
    int opened_with = errno;
    if (file != -1 && is_new) record_name(MADE, path, S_IFREG, NULL);
    if (file != -1 && !is_new && flags & O_TRUNC) record_length(file);
    step_ends(0);
    errno = opened_with;
    if (flags & O_TRUNC) note("cut", path);
    handle->path = log_fd == -1 && !onces ? NULL : strdup(path);
    for (int held = 0; held < OPS; held++) handle->held[held] = is_held(held, path);
    if (handle->fd == -1) {
        int error = errno;
        free(handle);
        return -error;
    }
    for (const struct rule *r = rules; r; r = r->next)
        if (!handle->error[r->op] && strstr(path, r->text)) handle->error[r->op] = r->error;
    fi->fh = (uintptr_t)handle;
    fi->keep_cache = record_fd != -1; /* pages that a failed sync has lost on the disk stay as programs see them */
    return 0;
}
static int fs_open(const char *path, struct fuse_file_info *fi) { return open_as(OPEN, path, fi->flags, 0, fi); }
static int fs_create(const char *path, mode_t mode, struct fuse_file_info *fi) {
    return open_as(CREATE, path, fi->flags, mode, fi);
}

static int fs_read(const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *fi) {
    (void)path;
    int refused = begin_on(READ, fi);
    if (refused) return refused;
    if (size > most_at_once) size = most_at_once;
    ssize_t n = pread(handle_of(fi)->fd, buffer, size, offset);
    return n == -1 ? -errno : (int)n;
}
static int fs_write(const char *path, const char *bytes, size_t size, off_t offset, struct fuse_file_info *fi) {
    (void)path;
    int refused = begin_on(WRITE, fi);
    if (refused) return refused;
    if (size > most_at_once) size = most_at_once;
    if (space != -1 && atomic_fetch_add(&spent, size) + (long)size > space) return -ENOSPC;
    step_begins();
    struct stat st;
    if (record_fd != -1) {
        if (fstat(handle_of(fi)->fd, &st)) abort();
        keep_for_undo(handle_of(fi)->fd, st.st_ino, size, offset);
    }
    ssize_t n = pwrite(handle_of(fi)->fd, bytes, size, offset);
    int error = errno;
    if (record_fd != -1 && n > 0) record((struct change){WROTE, st.st_ino, 0, 0, offset, n}, bytes);
    return step_ends(n == -1 ? -error : (int)n);
}
static int fs_flush(const char *path, struct fuse_file_info *fi) {
    (void)path;
    int refused = begin_on(FLUSH, fi);
    struct handle *handle = handle_of(fi);
    if (!refused && handle->published != -1) {
        off_t from = 0;
        if (lseek(handle->published, 0, SEEK_SET) == -1 || ftruncate(handle->published, 0)) return -errno;
        ssize_t n;
        while ((n = sendfile(handle->published, handle->fd, &from, 1 << 20)) > 0) {}
        if (n == -1) return -errno;
    }
    note("flush", handle->path);
    return refused;
}
static int fs_fsync(const char *path, int data_only, struct fuse_file_info *fi) {
    (void)path;
    int refused = begin_on(FSYNC, fi);
    step_begins();
    if (record_fd != -1) sync_recorded(handle_of(fi)->fd, refused);
    step_ends(0);
    if (refused) return refused;
    return result(data_only ? fdatasync(handle_of(fi)->fd) : fsync(handle_of(fi)->fd));
}
static int fs_fsyncdir(const char *path, int data_only, struct fuse_file_info *fi) {
    (void)path, (void)data_only;
    struct stat st;
    if (record_fd == -1) return 0;
    step_begins();
    if (fstat(dirfd((DIR *)(uintptr_t)fi->fh), &st)) abort();
    record((struct change){SYNCED, st.st_ino, 0, 0, 0, 0}, "");
    return step_ends(0);
}
static int fs_release(const char *path, struct fuse_file_info *fi) {
    (void)path;
    struct handle *handle = handle_of(fi);
    int returned = result(close(handle->fd));
    if (handle->published != -1) close(handle->published);
    free(handle->path);
    free(handle);
    return returned;
}
static int fs_flock(const char *path, struct fuse_file_info *fi, int operation) {
    (void)path;
    return result(flock(handle_of(fi)->fd, operation));
}
static int fs_fallocate(const char *path, int mode, off_t offset, off_t length, struct fuse_file_info *fi) {
    (void)path;
    int refused = fat ? -EOPNOTSUPP : begin_on(WRITE, fi);
    if (record_fd != -1 && mode & ~FALLOC_FL_KEEP_SIZE) refused = -EOPNOTSUPP;
    if (refused) return refused;
    step_begins();
    int returned = result(fallocate(handle_of(fi)->fd, mode, offset, length));
    if (!returned) record_length(handle_of(fi)->fd);
    return step_ends(returned);
}

static int fs_mkdir(const char *path, mode_t mode) {
    int refused = begin(MKDIR, path);
    if (refused) return refused;
    step_begins();
    int returned = result(mkdirat(backing, rel(path), mode));
    if (!returned) record_name(MADE, path, S_IFDIR, NULL);
    return step_ends(returned);
}
static int fs_mknod(const char *path, mode_t mode, dev_t device) {
    int refused = begin(CREATE, path);
    if (refused) return refused;
    step_begins();
    int returned = result(mknodat(backing, rel(path), mode, device));
    if (!returned) record_name(MADE, path, mode & S_IFMT, NULL);
    return step_ends(returned);
}
static int remove_name(const char *path, int flags) {
    step_begins();
    int returned = result(unlinkat(backing, rel(path), flags));
    if (!returned) record_name(REMOVED, path, 0, NULL);
    return step_ends(returned);
}
static int fs_unlink(const char *path) {
    int refused = begin(UNLINK, path);
    if (!refused) note("unlink", path);
    return refused ? refused : remove_name(path, 0);
}
static int fs_rmdir(const char *path) {
    int refused = begin(UNLINK, path);
    return refused ? refused : remove_name(path, AT_REMOVEDIR);
}
static int fs_rename(const char *from, const char *to, unsigned flags) {
    int refused = fat && flags ? -EINVAL : begin(RENAME, to);
    if (!refused) note("rename", from);
    if (refused) return refused;
    step_begins();
    const char *old = rel(from), *new = rel(to);
    uint64_t file = record_fd == -1 ? 0 : inode_at(old);
    bool is_same = record_fd != -1 && file == inode_at(new); /* two names of one file: nothing is done */
    int returned = result(renameat2(backing, old, backing, new, flags));
    if (!returned && !is_same && record_fd != -1) {
        char names[2 * PATH_MAX];
        int n = snprintf(names, sizeof names, "%s%c%s", name_of(old), 0, name_of(new));
        record((struct change){RENAMED, file, folder_of(old), folder_of(new), flags, n}, names);
    }
    return step_ends(returned);
}
static int fs_symlink(const char *target, const char *path) {
    int refused = fat ? -EPERM : begin(LINK, path);
    if (refused) return refused;
    step_begins();
    int returned = result(symlinkat(target, backing, rel(path)));
    if (!returned) record_name(MADE, path, S_IFLNK, target);
    return step_ends(returned);
}
static int fs_link(const char *from, const char *to) {
    int refused = fat ? -EPERM : begin(LINK, to);
    if (!refused) note("link", from);
    if (refused) return refused;
    step_begins();
    int returned = result(linkat(backing, rel(from), backing, rel(to), 0));
    if (!returned) record_name(LINKED, to, 0, NULL);
    return step_ends(returned);
}
static int fs_readlink(const char *path, char *buffer, size_t size) {
    ssize_t n = readlinkat(backing, rel(path), buffer, size - 1);
    if (n == -1) return -errno;
    buffer[n] = 0;
    return 0;
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *fi) {
    int refused = begin(SETATTR, path);
    if (refused || fat) return refused;
    return result(fi ? fchmod(handle_of(fi)->fd, mode) : fchmodat(backing, rel(path), mode, 0));
}
static int fs_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *fi) {
    int refused = begin(SETATTR, path);
    if (refused) return refused;
    if (fat) return (user && user != (uid_t)-1) || (group && group != (gid_t)-1) ? -EPERM : 0;
    return result(fi ? fchown(handle_of(fi)->fd, user, group)
                     : fchownat(backing, rel(path), user, group, AT_SYMLINK_NOFOLLOW));
}
static int fs_truncate(const char *path, off_t length, struct fuse_file_info *fi) {
    int refused = begin(SETATTR, path);
    if (refused) return refused;
    if (length == 0) note("cut", path);
    int fd = fi ? handle_of(fi)->fd : openat(backing, rel(path), O_WRONLY | O_CLOEXEC);
    if (fd == -1) return -errno;
    step_begins();
    int returned = result(ftruncate(fd, length));
    if (!returned) record_length(fd);
    step_ends(0);
    if (!fi) close(fd);
    return returned;
}
static int fs_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi) {
    int refused = begin(SETATTR, path);
    if (refused) return refused;
    return result(fi ? futimens(handle_of(fi)->fd, times)
                     : utimensat(backing, rel(path), times, AT_SYMLINK_NOFOLLOW));
}
static int fs_statfs(const char *path, struct statvfs *st) {
    (void)path;
    return result(fstatvfs(backing, st));
}

static void *leave_with_the_parent(void *mountpoint) {
    char byte;
    ssize_t n;
    do n = read(0, &byte, 1);
    while (n > 0 || (n == -1 && errno == EINTR));
    leaving = true;
    /* Lazily, so that a file still open somewhere cannot keep a dead mount in the way. */
    if (umount2(mountpoint, MNT_DETACH) == -1 && fork() == 0)
        execlp("fusermount3", "fusermount3", "-u", "-z", "-q", (char *)mountpoint, (char *)NULL);
    fuse_exit(instance);
    return NULL;
}

static void *fs_init(struct fuse_conn_info *connection, struct fuse_config *config) {
    if (writeback) connection->want |= FUSE_CAP_WRITEBACK_CACHE;
    if (record_fd != -1) connection->want &= ~FUSE_CAP_AUTO_INVAL_DATA; /* a new time of change is no reason to drop pages */
    struct fuse_context *context = fuse_get_context();
    instance = context->fuse;
    config->use_ino = 1;
    config->nullpath_ok = !plain && !publish && !lie; /* what has an open handle needs no path: libfuse need not build it */
    config->hard_remove = !plain; /* an open file that is removed needs no stand-in either */
    config->attr_timeout = config->entry_timeout = publish || fold || lie ? 0 : 60;
    config->direct_io = publish || fold || lie || most_at_once != SIZE_MAX;
    config->negative_timeout = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave_with_the_parent, context->private_data)) abort();
    pthread_detach(thread);
    return NULL;
}

static const struct fuse_operations operations = {
    .init = fs_init, .getattr = fs_getattr, .opendir = fs_opendir, .readdir = fs_readdir, .releasedir = fs_releasedir,
    .open = fs_open, .create = fs_create, .read = fs_read, .write = fs_write, .flush = fs_flush, .fsync = fs_fsync,
    .fsyncdir = fs_fsyncdir,
    .release = fs_release, .flock = fs_flock, .fallocate = fs_fallocate, .mkdir = fs_mkdir, .mknod = fs_mknod,
    .unlink = fs_unlink, .rmdir = fs_rmdir, .rename = fs_rename, .symlink = fs_symlink, .link = fs_link,
    .readlink = fs_readlink, .chmod = fs_chmod, .chown = fs_chown, .truncate = fs_truncate, .utimens = fs_utimens,
    .statfs = fs_statfs,
};

static void die(const char *why) {
    fprintf(stderr, "slowfs: %s\n", why);
    exit(2);
}

static enum op op_named(const char *name, size_t length) {
    for (int op = 0; op < OPS; op++)
        if (strlen(op_names[op]) == length && !strncmp(op_names[op], name, length)) return op;
    die("no such operation in SLOWFS_DELAY or SLOWFS_FAIL");
    return OPS;
}

static void read_delays(char *text) {
    for (char *item = strtok(text, ","); item; item = strtok(NULL, ",")) {
        char *value = strchr(item, '=');
        if (!value) die("SLOWFS_DELAY needs OPERATION=MICROSECONDS");
        delay_us[op_named(item, value - item)] = atol(value + 1);
    }
}

static void add_rule(struct rule **to, const char *name, size_t length, int error, const char *text) {
    struct rule *rule = malloc(sizeof *rule);
    if (!rule) die("no memory");
    *rule = (struct rule){.op = op_named(name, length), .error = error, .text = text, .next = *to};
    *to = rule;
}

static void read_failures(char *text) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *number = strchr(line, ' '), *name = number ? strchr(number + 1, ' ') : NULL;
        if (!name) die("SLOWFS_FAIL needs OPERATION ERRNO TEXT");
        add_rule(&rules, line, number - line, atoi(number + 1), name + 1);
    }
}

static void read_onces(char *text) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *number = strchr(line, ' '), *end, *name;
        long error = number ? strtol(number, &end, 10) : 0, nth = error ? strtol(end, &name, 10) : 0;
        if (nth < 1 || *name != ' ') die("SLOWFS_ONCE needs OPERATION ERRNO NTH TEXT");
        add_rule(&onces, line, number - line, error, name + 1);
        onces->nth = nth;
    }
}

static void read_holds(char *text) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *name = strchr(line, ' ');
        if (!name) die("SLOWFS_HOLD needs OPERATION TEXT");
        add_rule(&holds, line, name - line, 0, name + 1);
    }
}

int main(int argc, char **argv) {
    const char *folder = getenv("SLOWFS_BACKING");
    backing = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (backing == -1) die("SLOWFS_BACKING is not a folder");
    read_delays(strdup(getenv("SLOWFS_DELAY") ?: ""));
    read_failures(strdup(getenv("SLOWFS_FAIL") ?: ""));
    read_holds(strdup(getenv("SLOWFS_HOLD") ?: ""));
    read_onces(strdup(getenv("SLOWFS_ONCE") ?: ""));
    const char *number;
    if ((number = getenv("SLOWFS_SPACE"))) space = atol(number);
    if ((number = getenv("SLOWFS_SHORT"))) most_at_once = atol(number);
    unsigned long long seed = 0;
    if ((number = getenv("SLOWFS_JITTER")) && sscanf(number, "%ld %llu", &jitter_us, &seed) != 2)
        die("SLOWFS_JITTER needs MICROSECONDS SEED");
    jitter_state = seed;
    if (!(free_path = getenv("SLOWFS_FREE")) && holds) die("SLOWFS_HOLD needs SLOWFS_FREE");
    const char *like = getenv("SLOWFS_LIKE") ?: "", *log = getenv("SLOWFS_LOG");
    writeback = strstr(like, "writeback"), plain = strstr(like, "plain"), publish = strstr(like, "publish"), fold = strstr(like, "fold");
    fat = strstr(like, "fat");
    lie = getenv("SLOWFS_LIE");
    if (log && (log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) == -1) die("SLOWFS_LOG cannot be opened");
    const char *to = getenv("SLOWFS_RECORD");
    if (to && (record_fd = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) == -1) die("SLOWFS_RECORD cannot be opened");
    umask(0);
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); /* threads inherit it: a delay of 2 ms takes 2.0 ms */
    return fuse_main(argc, argv, &operations, argv[argc - 1]);
}
