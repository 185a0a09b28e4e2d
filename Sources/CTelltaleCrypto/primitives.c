// The headers would put the path of this file into the program, so that builds in two folders differed.
#define OPENSSL_NO_FILENAMES

#include "CTelltaleCrypto.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <string.h>

telltale_sha256_state *telltale_sha256_begin(void) {
    EVP_MD_CTX *state = EVP_MD_CTX_new();
    if (state != NULL && EVP_DigestInit_ex(state, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(state);
        state = NULL;
    }
    ERR_clear_error();
    return state;
}

int telltale_sha256_add(telltale_sha256_state *state, const uint8_t *bytes, size_t count) {
    return EVP_DigestUpdate(state, bytes, count) == 1;
}

telltale_sha256_state *telltale_sha256_copy(const telltale_sha256_state *state) {
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    if (copy != NULL && EVP_MD_CTX_copy_ex(copy, state) != 1) {
        EVP_MD_CTX_free(copy);
        copy = NULL;
    }
    ERR_clear_error();
    return copy;
}

int telltale_sha256_end(const telltale_sha256_state *state, uint8_t digest[32]) {
    EVP_MD_CTX *copy = telltale_sha256_copy(state);
    int is_done = copy != NULL && EVP_DigestFinal_ex(copy, digest, NULL) == 1;
    EVP_MD_CTX_free(copy);
    return is_done;
}

void telltale_sha256_free(telltale_sha256_state *state) { EVP_MD_CTX_free(state); }

int telltale_is_same(const uint8_t *one, const uint8_t *other, size_t count) {
    return CRYPTO_memcmp(one, other, count) == 0;
}

int telltale_random(uint8_t *bytes, size_t count) {
    int is_done = count <= INT_MAX && RAND_priv_bytes(bytes, (int)count) == 1;
    ERR_clear_error();
    return is_done;
}

/// A passphrase is never asked for: a key that has one is not read.
static int no_passphrase(char *buffer, int size, int is_writing, void *nothing) { return 0; }

telltale_public_key *telltale_p256_from_pem(const char *pem, size_t count, int is_private) {
    BIO *source = count <= INT_MAX ? BIO_new_mem_buf(pem, (int)count) : NULL;
    EVP_PKEY *key = NULL;
    if (source != NULL) {
        key = is_private ? PEM_read_bio_PrivateKey(source, NULL, no_passphrase, NULL)
                         : PEM_read_bio_PUBKEY(source, NULL, no_passphrase, NULL);
    }
    BIO_free(source);
    char group[32] = "";
    if (key != NULL && (EVP_PKEY_get_group_name(key, group, sizeof group, NULL) != 1 || strcmp(group, "prime256v1") != 0)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    ERR_clear_error();
    return key;
}

telltale_public_key *telltale_p256_generate(void) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    ERR_clear_error();
    return key;
}

int telltale_p256_point(const telltale_public_key *key, uint8_t point[65]) {
    uint8_t x[32], y[32];
    BIGNUM *numbers[2] = {NULL, NULL};
    int is_done = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_X, &numbers[0]) == 1 &&
                  EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &numbers[1]) == 1 &&
                  BN_bn2binpad(numbers[0], x, 32) == 32 && BN_bn2binpad(numbers[1], y, 32) == 32;
    BN_free(numbers[0]);
    BN_free(numbers[1]);
    ERR_clear_error();
    if (is_done) {
        point[0] = 4;
        memcpy(point + 1, x, 32);
        memcpy(point + 33, y, 32);
    }
    return is_done;
}

int telltale_sign_es256(telltale_public_key *key, const uint8_t *bytes, size_t count, uint8_t signature[64]) {
    uint8_t der[128];
    size_t der_count = sizeof der;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_done = context != NULL && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                  EVP_DigestSign(context, der, &der_count, bytes, count) == 1;
    EVP_MD_CTX_free(context);
    const uint8_t *start = der;
    ECDSA_SIG *numbers = is_done ? d2i_ECDSA_SIG(NULL, &start, (long)der_count) : NULL;
    is_done = numbers != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(numbers), signature, 32) == 32 &&
              BN_bn2binpad(ECDSA_SIG_get0_s(numbers), signature + 32, 32) == 32;
    ECDSA_SIG_free(numbers);
    ERR_clear_error();
    return is_done;
}

int telltale_p256_agree(telltale_public_key *own, telltale_public_key *other, uint8_t secret[32]) {
    size_t count = 32;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
    int is_done = context != NULL && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, other) == 1 &&
                  EVP_PKEY_derive(context, secret, &count) == 1 && count == 32;
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    return is_done;
}

static const EVP_CIPHER *gcm(size_t key_count) {
    return key_count == 16 ? EVP_aes_128_gcm() : key_count == 32 ? EVP_aes_256_gcm() : NULL;
}

int telltale_aes_gcm_seal(const uint8_t *key, size_t key_count, const uint8_t nonce[12], const uint8_t *bytes,
                          size_t count, uint8_t *sealed) {
    const EVP_CIPHER *cipher = gcm(key_count);
    EVP_CIPHER_CTX *context = cipher != NULL && count <= INT_MAX ? EVP_CIPHER_CTX_new() : NULL;
    int written = 0, rest = 0;
    int is_done = context != NULL && EVP_EncryptInit_ex(context, cipher, NULL, key, nonce) == 1 &&
                  EVP_EncryptUpdate(context, sealed, &written, bytes, (int)count) == 1 &&
                  EVP_EncryptFinal_ex(context, sealed + written, &rest) == 1 &&
                  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, sealed + count) == 1;
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return is_done;
}

int telltale_aes_gcm_open(const uint8_t *key, size_t key_count, const uint8_t nonce[12], const uint8_t *sealed,
                          size_t count, uint8_t *bytes) {
    const EVP_CIPHER *cipher = gcm(key_count);
    EVP_CIPHER_CTX *context = cipher != NULL && count <= INT_MAX ? EVP_CIPHER_CTX_new() : NULL;
    int written = 0, rest = 0;
    int is_done = context != NULL && EVP_DecryptInit_ex(context, cipher, NULL, key, nonce) == 1 &&
                  EVP_DecryptUpdate(context, bytes, &written, sealed, (int)count) == 1 &&
                  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(sealed + count)) == 1 &&
                  EVP_DecryptFinal_ex(context, bytes + written, &rest) == 1;
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return is_done;
}
