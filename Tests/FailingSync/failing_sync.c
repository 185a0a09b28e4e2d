// A disk whose syncs fail from some moment on: preloaded into the daemon, compiled by the test.
//
// They fail while the file that FAILING_SYNC names exists.
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(void) {
    const char *path = getenv("FAILING_SYNC");
    return path && access(path, F_OK) == 0;
}

int fsync(int descriptor) {
    if (fails()) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    if (fails()) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, descriptor);
}
