#include "CFaultVFS.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct write_op {
    struct write_op *next;
    int64_t offset;
    int64_t length; /* -1 = the file was cut at the offset */
    unsigned char bytes[];
} write_op;

typedef struct tracked {
    struct tracked *next;
    char *path;
    unsigned char *durable;
    int64_t size;
    write_op *first, *last; /* since the last sync */
} tracked;

struct cfaultvfs {
    sqlite3_vfs base;
    sqlite3_vfs *real;
    /* Two connections in two threads may share what follows. */
    pthread_mutex_t mutex;
    tracked *files;
    long operations, syncs, locks, die_at, fail_at;
    int64_t limit, waited;
    int keeps_index;
};

typedef struct fault_file {
    sqlite3_file base;
    cfaultvfs *vfs;
    tracked *tracked; /* NULL for temporary files */
    sqlite3_file *real;
} fault_file;

#define SELF(file) ((fault_file *)(file))
#define REAL(file) (SELF(file)->real)

static int is_dead(cfaultvfs *vfs) { return vfs->die_at >= 0 && vfs->operations >= vfs->die_at; }

static void apply(unsigned char **bytes, int64_t *size, const write_op *op) {
    if (op->length < 0) {
        if (op->offset < *size) *size = op->offset;
        return;
    }
    if (op->offset + op->length > *size) {
        *bytes = realloc(*bytes, (size_t)(op->offset + op->length));
        if (op->offset > *size) memset(*bytes + *size, 0, (size_t)(op->offset - *size));
        *size = op->offset + op->length;
    }
    memcpy(*bytes + op->offset, op->bytes, (size_t)op->length);
}

static void remember(tracked *file, const void *bytes, int64_t length, int64_t offset) {
    if (!file) return;
    write_op *op = malloc(sizeof *op + (size_t)(length > 0 ? length : 0));
    op->next = NULL;
    op->offset = offset;
    op->length = length;
    if (length > 0) memcpy(op->bytes, bytes, (size_t)length);
    if (file->last) file->last->next = op;
    else file->first = op;
    file->last = op;
}

static int fault_close(sqlite3_file *file) { return REAL(file)->pMethods->xClose(REAL(file)); }

static int fault_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset) {
    return REAL(file)->pMethods->xRead(REAL(file), bytes, length, offset);
}

static int locked_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    cfaultvfs *vfs = SELF(file)->vfs;
    if (is_dead(vfs)) return SQLITE_IOERR_WRITE;
    if (vfs->limit >= 0 && offset + length > vfs->limit) return SQLITE_FULL;
    vfs->operations++;
    int code = REAL(file)->pMethods->xWrite(REAL(file), bytes, length, offset);
    if (code == SQLITE_OK) remember(SELF(file)->tracked, bytes, length, offset);
    return code;
}

static int fault_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    pthread_mutex_lock(&SELF(file)->vfs->mutex);
    int code = locked_write(file, bytes, length, offset);
    pthread_mutex_unlock(&SELF(file)->vfs->mutex);
    return code;
}

static int locked_truncate(sqlite3_file *file, sqlite3_int64 size) {
    cfaultvfs *vfs = SELF(file)->vfs;
    if (is_dead(vfs)) return SQLITE_IOERR_TRUNCATE;
    vfs->operations++;
    int code = REAL(file)->pMethods->xTruncate(REAL(file), size);
    if (code == SQLITE_OK) remember(SELF(file)->tracked, NULL, -1, size);
    return code;
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size) {
    pthread_mutex_lock(&SELF(file)->vfs->mutex);
    int code = locked_truncate(file, size);
    pthread_mutex_unlock(&SELF(file)->vfs->mutex);
    return code;
}

static int locked_sync(sqlite3_file *file) {
    cfaultvfs *vfs = SELF(file)->vfs;
    if (is_dead(vfs)) return SQLITE_IOERR_FSYNC;
    int fails = vfs->syncs == vfs->fail_at;
    vfs->operations++;
    vfs->syncs++;
    tracked *tracked = SELF(file)->tracked;
    if (tracked) {
        for (write_op *op = tracked->first; op;) {
            if (!fails) apply(&tracked->durable, &tracked->size, op);
            write_op *next = op->next;
            free(op);
            op = next;
        }
        tracked->first = tracked->last = NULL;
    }
    return fails ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int fault_sync(sqlite3_file *file, int flags) {
    (void)flags;
    pthread_mutex_lock(&SELF(file)->vfs->mutex);
    int code = locked_sync(file);
    pthread_mutex_unlock(&SELF(file)->vfs->mutex);
    return code;
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *size) {
    return REAL(file)->pMethods->xFileSize(REAL(file), size);
}
static int fault_lock(sqlite3_file *file, int lock) { return REAL(file)->pMethods->xLock(REAL(file), lock); }
static int fault_unlock(sqlite3_file *file, int lock) { return REAL(file)->pMethods->xUnlock(REAL(file), lock); }
static int fault_reserved(sqlite3_file *file, int *out) {
    return REAL(file)->pMethods->xCheckReservedLock(REAL(file), out);
}
static int fault_control(sqlite3_file *file, int op, void *argument) {
    /* A size hint would grow the file behind our back. */
    if (op == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;
    return REAL(file)->pMethods->xFileControl(REAL(file), op, argument);
}
static int fault_sector(sqlite3_file *file) { return REAL(file)->pMethods->xSectorSize(REAL(file)); }
static int fault_device(sqlite3_file *file) { return REAL(file)->pMethods->xDeviceCharacteristics(REAL(file)); }
static int fault_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out) {
    if (extend && page > 0 && SELF(file)->vfs->keeps_index) {
        errno = ENOSPC;
        return SQLITE_IOERR_SHMSIZE;
    }
    return REAL(file)->pMethods->xShmMap(REAL(file), page, size, extend, out);
}
static int fault_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    pthread_mutex_lock(&SELF(file)->vfs->mutex);
    SELF(file)->vfs->locks++;
    pthread_mutex_unlock(&SELF(file)->vfs->mutex);
    return REAL(file)->pMethods->xShmLock(REAL(file), offset, count, flags);
}
static void fault_shm_barrier(sqlite3_file *file) { REAL(file)->pMethods->xShmBarrier(REAL(file)); }
static int fault_shm_unmap(sqlite3_file *file, int delete_it) {
    return REAL(file)->pMethods->xShmUnmap(REAL(file), delete_it);
}

static const sqlite3_io_methods methods = {
    2, fault_close, fault_read, fault_write, fault_truncate, fault_sync, fault_size, fault_lock, fault_unlock,
    fault_reserved, fault_control, fault_sector, fault_device, fault_shm_map, fault_shm_lock, fault_shm_barrier,
    fault_shm_unmap, NULL, NULL,
};

static tracked *track(cfaultvfs *vfs, const char *path, sqlite3_file *real) {
    for (tracked *file = vfs->files; file; file = file->next)
        if (strcmp(file->path, path) == 0) return file;
    /* What is there already is durable. */
    sqlite3_int64 size = 0;
    real->pMethods->xFileSize(real, &size);
    tracked *file = calloc(1, sizeof *file);
    file->path = strdup(path);
    file->durable = malloc((size_t)size + 1);
    file->size = size;
    if (size > 0) real->pMethods->xRead(real, file->durable, (int)size, 0);
    file->next = vfs->files;
    vfs->files = file;
    return file;
}

static int locked_open(sqlite3_vfs *base, const char *path, sqlite3_file *file, int flags, int *out) {
    cfaultvfs *vfs = base->pAppData;
    fault_file *self = SELF(file);
    memset(self, 0, sizeof *self);
    self->vfs = vfs;
    self->real = (sqlite3_file *)(self + 1);
    if (is_dead(vfs) && (flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
    int code = vfs->real->xOpen(vfs->real, path, self->real, flags, out);
    if (code != SQLITE_OK) return code;
    if (path && !(flags & SQLITE_OPEN_DELETEONCLOSE)) self->tracked = track(vfs, path, self->real);
    self->base.pMethods = &methods;
    return SQLITE_OK;
}

static int fault_open(sqlite3_vfs *base, const char *path, sqlite3_file *file, int flags, int *out) {
    cfaultvfs *vfs = base->pAppData;
    pthread_mutex_lock(&vfs->mutex);
    int code = locked_open(base, path, file, flags, out);
    pthread_mutex_unlock(&vfs->mutex);
    return code;
}

static int locked_delete(sqlite3_vfs *base, const char *path, int sync) {
    cfaultvfs *vfs = base->pAppData;
    if (is_dead(vfs)) return SQLITE_IOERR_DELETE;
    for (tracked **place = &vfs->files; *place; place = &(*place)->next)
        if (strcmp((*place)->path, path) == 0) {
            *place = (*place)->next; /* a few bytes of a test leak */
            break;
        }
    return vfs->real->xDelete(vfs->real, path, sync);
}

static int fault_delete(sqlite3_vfs *base, const char *path, int sync) {
    cfaultvfs *vfs = base->pAppData;
    pthread_mutex_lock(&vfs->mutex);
    int code = locked_delete(base, path, sync);
    pthread_mutex_unlock(&vfs->mutex);
    return code;
}

static int fault_sleep(sqlite3_vfs *base, int microseconds) {
    cfaultvfs *vfs = base->pAppData;
    pthread_mutex_lock(&vfs->mutex);
    vfs->waited += microseconds;
    pthread_mutex_unlock(&vfs->mutex);
    return vfs->real->xSleep(vfs->real, microseconds);
}

cfaultvfs *cfaultvfs_make(const char *name) {
    cfaultvfs *vfs = calloc(1, sizeof *vfs);
    if (!vfs) return NULL;
    pthread_mutex_init(&vfs->mutex, NULL);
    vfs->real = sqlite3_vfs_find(NULL);
    vfs->base = *vfs->real;
    vfs->base.zName = strdup(name);
    vfs->base.pNext = NULL;
    vfs->base.pAppData = vfs;
    vfs->base.szOsFile = (int)sizeof(fault_file) + vfs->real->szOsFile;
    vfs->base.xOpen = fault_open;
    vfs->base.xDelete = fault_delete;
    vfs->base.xSleep = fault_sleep;
    vfs->die_at = vfs->fail_at = -1;
    vfs->limit = -1;
    return sqlite3_vfs_register(&vfs->base, 0) == SQLITE_OK ? vfs : NULL;
}

void cfaultvfs_die_after(cfaultvfs *vfs, long operations) {
    pthread_mutex_lock(&vfs->mutex);
    vfs->die_at = operations < 0 ? -1 : vfs->operations + operations;
    pthread_mutex_unlock(&vfs->mutex);
}

void cfaultvfs_fail_sync_after(cfaultvfs *vfs, long syncs) {
    pthread_mutex_lock(&vfs->mutex);
    vfs->fail_at = vfs->syncs + syncs;
    pthread_mutex_unlock(&vfs->mutex);
}

void cfaultvfs_keep_index(cfaultvfs *vfs, int is_kept) { vfs->keeps_index = is_kept; }

void cfaultvfs_limit_size(cfaultvfs *vfs, int64_t bytes) {
    pthread_mutex_lock(&vfs->mutex);
    vfs->limit = bytes;
    pthread_mutex_unlock(&vfs->mutex);
}

long cfaultvfs_operations(cfaultvfs *vfs) {
    pthread_mutex_lock(&vfs->mutex);
    long operations = vfs->operations;
    pthread_mutex_unlock(&vfs->mutex);
    return operations;
}

long cfaultvfs_locks(cfaultvfs *vfs) {
    pthread_mutex_lock(&vfs->mutex);
    long locks = vfs->locks;
    pthread_mutex_unlock(&vfs->mutex);
    return locks;
}

int64_t cfaultvfs_waited(cfaultvfs *vfs) {
    pthread_mutex_lock(&vfs->mutex);
    int64_t waited = vfs->waited;
    pthread_mutex_unlock(&vfs->mutex);
    return waited;
}

int cfaultvfs_execute(const char *path, const char *sql) {
    sqlite3 *connection = NULL;
    int code = sqlite3_open(path, &connection);
    if (code == SQLITE_OK) code = sqlite3_exec(connection, sql, NULL, NULL, NULL);
    sqlite3_close(connection);
    return code;
}

static uint64_t next_random(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int locked_crash(cfaultvfs *vfs, const char *folder, int loss, uint64_t seed) {
    uint64_t state = seed;
    for (tracked *file = vfs->files; file; file = file->next) {
        const char *name = strrchr(file->path, '/');
        unsigned char *bytes = malloc((size_t)file->size + 1);
        int64_t size = file->size;
        memcpy(bytes, file->durable, (size_t)size);
        /* From nothing to everything, so that both ends come up too. */
        uint64_t chance = next_random(&state) % 101;
        for (write_op *op = file->first; op && loss != cfaultvfs_drop; op = op->next) {
            if (loss == cfaultvfs_reorder || op->length <= 0) {
                if (next_random(&state) % 100 < chance) apply(&bytes, &size, op);
                continue;
            }
            for (int64_t start = 0; start < op->length;) {
                /* A write that the disk tears is torn between sectors. */
                int64_t end = ((op->offset + start) / 512 + 1) * 512 - op->offset;
                if (end > op->length) end = op->length;
                if (next_random(&state) % 100 < chance) {
                    write_op *part = malloc(sizeof *part + (size_t)(end - start));
                    part->offset = op->offset + start;
                    part->length = end - start;
                    memcpy(part->bytes, op->bytes + start, (size_t)(end - start));
                    apply(&bytes, &size, part);
                    free(part);
                }
                start = end;
            }
        }
        char path[4096];
        snprintf(path, sizeof path, "%s%s", folder, name ? name : file->path);
        FILE *out = fopen(path, "wb");
        int written = out && fwrite(bytes, 1, (size_t)size, out) == (size_t)size;
        if (out) fclose(out);
        free(bytes);
        if (!written) return -1;
    }
    return 0;
}

int cfaultvfs_crash(cfaultvfs *vfs, const char *folder, int loss, uint64_t seed) {
    pthread_mutex_lock(&vfs->mutex);
    int code = locked_crash(vfs, folder, loss, seed);
    pthread_mutex_unlock(&vfs->mutex);
    return code;
}
