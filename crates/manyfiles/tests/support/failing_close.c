/* Preloaded: close(2) of a file whose name ends in ".fails-with-N" closes it, and then fails with error number N: as NFS
   and quotas do, which report at close what a write could not. If ".reused" is in the name too, the descriptor's number is
   in use again by then, for the null device: as if another thread had opened a file meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int close(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    int closed = syscall(SYS_close, fd);
    if (closed == -1 || n < 0) return closed;
    path[n] = 0;
    char *mark = strstr(path, ".fails-with-");
    if (!mark) return closed;
    if (strstr(path, ".reused")) {
        int other = open("/dev/null", O_RDONLY);
        if (other != fd) {
            dup2(other, fd);
            syscall(SYS_close, other);
        }
    }
    errno = atoi(mark + strlen(".fails-with-"));
    return -1;
}
