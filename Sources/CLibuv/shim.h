#include <uv.h>
#include <sys/eventfd.h>
