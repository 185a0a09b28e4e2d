/// The settings of the daemon's allocator, which jemalloc reads when the process starts: jemalloc(3), TUNING.
extern const char *malloc_conf;
