#include <sqlite3.h>

/* Swift imports neither variadic functions nor macros that are more than a literal. */

static inline int clibsqlite_keep_wal(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

static inline int clibsqlite_bind_empty_text(sqlite3_stmt *statement, int parameter) {
    return sqlite3_bind_text(statement, parameter, "", 0, SQLITE_STATIC);
}

static const int clibsqlite_ioerr_write = SQLITE_IOERR_WRITE;
