#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A reusable simdjson parser. Not thread-safe: use one parser per thread.
typedef struct csimdjson_parser csimdjson_parser;

/// simdjson's own representation of a document: a tape of 64-bit words, and a buffer of strings, each preceded by
/// its length as a 32-bit little-endian integer. Valid until the next parse, or until the parser is freed.
/// The tape's format: https://github.com/simdjson/simdjson/blob/master/doc/tape.md
typedef struct {
  const uint64_t *tape;
  const uint8_t *strings;
} csimdjson_document;

csimdjson_parser *csimdjson_create(void);
void csimdjson_free(csimdjson_parser *parser);

/// Parses `length` bytes. Returns 0 and fills `document`, or simdjson's error code.
int csimdjson_parse(csimdjson_parser *parser, const uint8_t *bytes, size_t length, size_t depth_limit,
                    csimdjson_document *document);

/// The English message for an error code of `csimdjson_parse`. Never null; must not be freed.
const char *csimdjson_message(int error);

#ifdef __cplusplus
}
#endif

#endif
