#include "CGzip.h"

#include <zlib.h>

// A window of 15 bits, and 16 for the head and the tail of gzip.
static const int window = 15 + 16;

// zlib's own bound has no room for the longer head of gzip.
static const size_t head = 18;

size_t telltale_gzip_bound(size_t count) { return compressBound((uLong)count) + head; }

size_t telltale_gzip(const uint8_t *bytes, size_t count, uint8_t *output, size_t capacity) {
    if (count > UINT32_MAX || capacity > UINT32_MAX) return 0;
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = output;
    stream.avail_out = (uInt)capacity;
    const int result = deflate(&stream, Z_FINISH);
    const size_t written = stream.total_out;
    deflateEnd(&stream);
    return result == Z_STREAM_END ? written : 0;
}
