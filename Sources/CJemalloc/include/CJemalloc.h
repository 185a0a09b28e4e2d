/// The settings of the allocator under the daemon, read by jemalloc itself when the process begins: jemalloc(3), TUNING.
extern const char *malloc_conf;
