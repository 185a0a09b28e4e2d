#ifndef CTELLTALECRYPTO_H
#define CTELLTALECRYPTO_H

#include <stddef.h>
#include <stdint.h>

/// SHA-256 of `count` bytes, by libcrypto. Returns 1, or 0 where libcrypto has no SHA-256 or no memory.
int telltale_sha256(const uint8_t *bytes, size_t count, uint8_t digest[32]);

/// A public key that libcrypto has parsed once, and not for each signature. Threads may share one.
typedef struct evp_pkey_st telltale_public_key;

/// Of a point 4, x, y. NULL where that is none on P-256.
telltale_public_key *telltale_key_p256(const uint8_t point[65]);
/// NULL where memory is short.
telltale_public_key *telltale_key_ed25519(const uint8_t key[32]);
void telltale_key_free(telltale_public_key *key);

// The signatures of RFC 7518 and RFC 8037. Each returns 1 = it is good, 0 = it is not, or libcrypto cannot tell.

/// HMAC with SHA-256, compared in constant time.
int telltale_verify_hs256(const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count,
                          const uint8_t signature[32]);
/// ECDSA on P-256 with SHA-256. `signature` is r, s, of 32 bytes each.
int telltale_verify_es256(telltale_public_key *key, const uint8_t *bytes, size_t count, const uint8_t signature[64]);
/// Ed25519.
int telltale_verify_ed25519(telltale_public_key *key, const uint8_t *bytes, size_t count, const uint8_t signature[64]);

#endif
