#include "CJemalloc.h"

// By itself jemalloc gives memory back only while somebody allocates: a daemon that was busy and is idle now would keep
// what it had at its busiest for as long as it is idle.
const char *malloc_conf = "background_thread:true";
