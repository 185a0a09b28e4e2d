/// Asks the processor for the line of memory at `address`, which may be any: nothing is read, and nothing can fault.
static inline void prefetch_line(unsigned long address) { __builtin_prefetch((const void *)address); }
