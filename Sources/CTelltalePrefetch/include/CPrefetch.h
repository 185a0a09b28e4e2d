/// Prefetches the cache line at `address`. Any address is allowed: a prefetch reads no value and cannot fault.
static inline void prefetch_line(unsigned long address) { __builtin_prefetch((const void *)address); }
