// Counts the allocations of a thread: the program's malloc is glibc's with a counter in front.
#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdint.h>

// How many blocks this thread has asked for so far; one that is made larger counts again.
uint64_t allocations_of_this_thread(void);

#endif
