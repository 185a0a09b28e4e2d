#ifndef CTESTSIGNER_H
#define CTESTSIGNER_H

#include <stddef.h>
#include <stdint.h>

// The signatures of RFC 7518 and RFC 8037. Each returns 1, or 0 where libcrypto fails.

int testsigner_hs256(const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count, uint8_t signature[32]);
/// `key` is the private number of a key on P-256, of 32 bytes. `der` gets the signature as ASN.1, `signature` as r, s.
int testsigner_es256(const uint8_t key[32], const uint8_t *bytes, size_t count, uint8_t signature[64], uint8_t der[80],
                     size_t *der_count);
int testsigner_ed25519(const uint8_t key[32], const uint8_t *bytes, size_t count, uint8_t signature[64]);

#endif
