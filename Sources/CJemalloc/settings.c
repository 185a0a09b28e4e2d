#include "CJemalloc.h"

// By default jemalloc returns memory to the system only during later allocations. An idle daemon would keep the memory of
// its busiest moment. A background thread returns it.
const char *malloc_conf = "background_thread:true";
