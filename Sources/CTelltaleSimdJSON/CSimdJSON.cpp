#include "CSimdJSON.h"

#include <new>
#include <simdjson.h>

struct csimdjson_parser {
  simdjson::dom::parser parser;
};

csimdjson_parser *csimdjson_create(void) { return new (std::nothrow) csimdjson_parser; }

void csimdjson_free(csimdjson_parser *parser) { delete parser; }

int csimdjson_parse(csimdjson_parser *parser, const uint8_t *bytes, size_t length, size_t depth_limit,
                    csimdjson_document *document) {
  // `allocate` sets the depth limit. A parse beyond the capacity would allocate again with the default limit.
  if (parser->parser.capacity() < length || parser->parser.max_depth() != depth_limit) {
    size_t capacity = length < 4096 ? 4096 : length;
    if (auto error = parser->parser.allocate(capacity, depth_limit)) return error;
  }
  auto result = parser->parser.parse(bytes, length, true);
  if (result.error()) return result.error();
  document->tape = parser->parser.doc.tape.get();
  document->strings = parser->parser.doc.string_buf.get();
  return 0;
}

const char *csimdjson_message(int error) {
  return simdjson::error_message(static_cast<simdjson::error_code>(error));
}
