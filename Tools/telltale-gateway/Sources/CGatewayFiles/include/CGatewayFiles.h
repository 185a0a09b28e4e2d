#ifndef TELLTALE_GATEWAY_FILES_H
#define TELLTALE_GATEWAY_FILES_H

#include <stddef.h>

/// A file that is inside the program.
struct telltale_gateway_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// Of the files of the board.
size_t telltale_gateway_file_count(void);

/// The file of a number below `telltale_gateway_file_count()`; beyond it one without a name and bytes.
struct telltale_gateway_file telltale_gateway_file_at(size_t index);

/// Protocols/HTTP/openapi.json.
struct telltale_gateway_file telltale_gateway_openapi(void);

#endif
