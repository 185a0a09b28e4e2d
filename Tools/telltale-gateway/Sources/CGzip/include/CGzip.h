#ifndef CGZIP_H
#define CGZIP_H

#include <stddef.h>
#include <stdint.h>

/// The most bytes that `telltale_gzip` makes of `count`.
size_t telltale_gzip_bound(size_t count);

/// Compresses into one gzip member (RFC 1952), as small as zlib can.
///
/// @return The bytes written; 0 where `capacity` is too small or memory ran out.
size_t telltale_gzip(const uint8_t *bytes, size_t count, uint8_t *output, size_t capacity);

#endif
