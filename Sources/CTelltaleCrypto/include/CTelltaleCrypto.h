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

// What the gateway and telltale-push need besides. Each function returns 1, or 0 where its input is none of the kind that it
// names, or where libcrypto has no memory.

/// SHA-256 of bytes that come in parts. NULL where memory is short.
typedef struct evp_md_ctx_st telltale_sha256_state;
telltale_sha256_state *telltale_sha256_begin(void);
int telltale_sha256_add(telltale_sha256_state *state, const uint8_t *bytes, size_t count);
/// Leaves `state` as it is, so that more can be added.
int telltale_sha256_end(const telltale_sha256_state *state, uint8_t digest[32]);
telltale_sha256_state *telltale_sha256_copy(const telltale_sha256_state *state);
void telltale_sha256_free(telltale_sha256_state *state);

/// Whether two areas have the same bytes, in a time that depends on `count` alone.
int telltale_is_same(const uint8_t *one, const uint8_t *other, size_t count);
/// Random bytes fit for keys.
int telltale_random(uint8_t *bytes, size_t count);

/// A key of P-256 from PEM, public or private. NULL where it is none.
telltale_public_key *telltale_p256_from_pem(const char *pem, size_t count, int is_private);
/// A new private key.
telltale_public_key *telltale_p256_generate(void);
/// The public point: 4, x, y.
int telltale_p256_point(const telltale_public_key *key, uint8_t point[65]);
/// ECDSA with SHA-256 by a private key. `signature` is r, s, of 32 bytes each.
int telltale_sign_es256(telltale_public_key *key, const uint8_t *bytes, size_t count, uint8_t signature[64]);
/// The shared secret of ECDH: x of the product.
int telltale_p256_agree(telltale_public_key *own, telltale_public_key *other, uint8_t secret[32]);

/// AES-GCM with a key of 16 or 32 bytes. `sealed` is the ciphertext of `count` bytes, and its tag of 16.
int telltale_aes_gcm_seal(const uint8_t *key, size_t key_count, const uint8_t nonce[12], const uint8_t *bytes,
                          size_t count, uint8_t *sealed);
/// The reverse: `sealed` has `count` + 16 bytes. 0 where the tag is not that of the ciphertext.
int telltale_aes_gcm_open(const uint8_t *key, size_t key_count, const uint8_t nonce[12], const uint8_t *sealed,
                          size_t count, uint8_t *bytes);

#endif
