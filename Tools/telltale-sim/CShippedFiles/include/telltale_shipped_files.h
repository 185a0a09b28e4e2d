#ifndef TELLTALE_SHIPPED_FILES_H
#define TELLTALE_SHIPPED_FILES_H

#include <stddef.h>

/// A file that is inside the program.
struct telltale_shipped_file {
    /// Where `telltale-sim unpack` writes it, below its folder: `scenarios/NAME.json`, `scenarios/data/NAME.csv`,
    /// `kinds/NAME.json`.
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

size_t telltale_shipped_file_count(void);

/// The file of a number below `telltale_shipped_file_count()`; beyond it one without a name and bytes.
struct telltale_shipped_file telltale_shipped_file_at(size_t index);

#endif
