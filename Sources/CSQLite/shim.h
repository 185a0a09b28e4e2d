#include <linux/stat.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Swift cannot import variadic functions, and of macros only literals. */

static inline int clibsqlite_keep_wal(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/* Every allocation is counted otherwise, under a lock of the process. Must come before the first connection. */
static inline int clibsqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static inline int clibsqlite_bind_empty_text(sqlite3_stmt *statement, int parameter) {
    return sqlite3_bind_text(statement, parameter, "", 0, SQLITE_STATIC);
}

static const int clibsqlite_ioerr_write = SQLITE_IOERR_WRITE;
static const int clibsqlite_ioerr_shmsize = SQLITE_IOERR_SHMSIZE;

/* The errno of the last failed call on the write-ahead log, or else on the file; 0 if there is none.
   sqlite3_system_errno() does not report errors of a COMMIT. */
static inline int clibsqlite_last_errno(sqlite3 *connection) {
    sqlite3_file *log = 0;
    int code = 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &code);
    if (code == 0) sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &code);
    return code;
}

/* Extends the write-ahead log to `length` bytes with zeros, which SQLite does not read as frames. Does nothing if the log
   is already as long. After an error the log has its old length. */
static inline int clibsqlite_lengthen_log(sqlite3 *connection, sqlite3_int64 length) {
    static const char zeros[1 << 16];
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0, written = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK) return code;
    if (!log || !log->pMethods) return SQLITE_OK;
    code = log->pMethods->xFileSize(log, &size);
    if (code != SQLITE_OK) return code;
    while (code == SQLITE_OK && size + written < length) {
        sqlite3_int64 rest = length - size - written;
        int count = rest < (sqlite3_int64)sizeof zeros ? (int)rest : (int)sizeof zeros;
        code = log->pMethods->xWrite(log, zeros, count, size + written);
        written += count;
    }
    if (code != SQLITE_OK) log->pMethods->xTruncate(log, size);
    return code;
}

/* Truncates the write-ahead log to `length` bytes. No reader may need the rest. */
static inline int clibsqlite_cut_log(sqlite3 *connection, sqlite3_int64 length) {
    sqlite3_file *log = 0;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (code != SQLITE_OK || !log || !log->pMethods) return code;
    code = log->pMethods->xFileSize(log, &size);
    return code == SQLITE_OK && size > length ? log->pMethods->xTruncate(log, length) : code;
}

/* The birth time of the file in nanoseconds since 1970; 0 if the file system does not record it. */
static inline long long clibsqlite_birth_time(const char *path) {
    const int from_here = -100; /* AT_FDCWD; fcntl.h is another module's */
    struct statx status;
    if (syscall(SYS_statx, from_here, path, 0, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return 0;
    return (long long)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}
