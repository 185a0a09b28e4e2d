#ifndef CTELLTALECRYPTO_H
#define CTELLTALECRYPTO_H

#include <stddef.h>
#include <stdint.h>

/// SHA-256 of `count` bytes, by libcrypto. Returns 1, or 0 where libcrypto has no SHA-256 or no memory.
int telltale_sha256(const uint8_t *bytes, size_t count, uint8_t digest[32]);

#endif
