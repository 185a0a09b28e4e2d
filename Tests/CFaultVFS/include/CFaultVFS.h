#pragma once
#include <stdint.h>

/* An SQLite VFS with faults, for tests.
 *
 * Files go through to the operating system's, but for their syncs: what was written since a file's last sync is
 * remembered, and a simulated crash drops, reorders or tears it. A killed process cannot show a missing sync, because
 * the page cache survives it; this can. */

typedef struct cfaultvfs cfaultvfs;

/* Registers a VFS of this name. NULL when there is no memory. It lives as long as the process. */
cfaultvfs *_Nullable cfaultvfs_make(const char *_Nonnull name);

/* After this many writes and syncs, counted from now, nothing reaches the files any more; -1 = never. */
void cfaultvfs_die_after(cfaultvfs *_Nonnull vfs, long operations);

/* After this many syncs, counted from now, one fails. What it was to make durable never will be, and the next sync says
 * that all is well: Linux takes pages that it could not write for written. */
void cfaultvfs_fail_sync_after(cfaultvfs *_Nonnull vfs, long syncs);

/* Files do not grow beyond this, as on a full disk; -1 = no limit. In bytes. */
void cfaultvfs_limit_size(cfaultvfs *_Nonnull vfs, int64_t bytes);

/* The index of a write-ahead log does not grow, as on a disk that is full just then. */
void cfaultvfs_keep_index(cfaultvfs *_Nonnull vfs, int is_kept);

/* Writes and syncs so far. */
long cfaultvfs_operations(cfaultvfs *_Nonnull vfs);

/* Locks of the write-ahead log's index that were taken or given back so far: a system call each. */
long cfaultvfs_locks(cfaultvfs *_Nonnull vfs);

/* The microseconds for which SQLite wanted to sleep so far: it waits so for others that hold a lock. */
int64_t cfaultvfs_waited(cfaultvfs *_Nonnull vfs);

/* Executes SQL on a file as another program would, without faults. Returns SQLite's code. */
int cfaultvfs_execute(const char *_Nonnull path, const char *_Nonnull sql);

enum cfaultvfs_loss {
    /* Nothing unsynced survives. */
    cfaultvfs_drop = 0,
    /* Unsynced writes survive in any combination, as if the disk had reordered them. */
    cfaultvfs_reorder = 1,
    /* The same, sector by sector. */
    cfaultvfs_tear = 2,
};

/* Writes what a power failure may leave of the files into a folder, under their own names. */
int cfaultvfs_crash(cfaultvfs *_Nonnull vfs, const char *_Nonnull folder, int loss, uint64_t seed);
