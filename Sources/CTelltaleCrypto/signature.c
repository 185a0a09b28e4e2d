// The headers would put the path of this file into the program, so that builds in two folders differed.
#define OPENSSL_NO_FILENAMES

#include "CTelltaleCrypto.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>

int telltale_verify_hs256(const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count,
                          const uint8_t signature[32]) {
    uint8_t own[EVP_MAX_MD_SIZE];
    unsigned int own_count = 0;
    if (HMAC(EVP_sha256(), key, (int)key_count, bytes, count, own, &own_count) == NULL) {
        ERR_clear_error();
        return 0;
    }
    int is_same = own_count == 32 && CRYPTO_memcmp(own, signature, 32) == 0;
    OPENSSL_cleanse(own, sizeof own);
    return is_same;
}

telltale_public_key *telltale_key_p256(const uint8_t point[65]) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)"prime256v1", 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point, 65),
        OSSL_PARAM_construct_end(),
    };
    if (context != NULL && EVP_PKEY_fromdata_init(context) == 1) {
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    }
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_CTX *check = key ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL) : NULL;
    if (check == NULL || EVP_PKEY_public_check(check) != 1) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    EVP_PKEY_CTX_free(check);
    ERR_clear_error();
    return key;
}

telltale_public_key *telltale_key_ed25519(const uint8_t key[32]) {
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
}

void telltale_key_free(telltale_public_key *key) { EVP_PKEY_free(key); }

static int verify(EVP_PKEY *key, const EVP_MD *digest, const uint8_t *bytes, size_t count, const uint8_t *signature,
                  size_t signature_count) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_good = key != NULL && context != NULL && EVP_DigestVerifyInit(context, NULL, digest, NULL, key) == 1 &&
                  EVP_DigestVerify(context, signature, signature_count, bytes, count) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return is_good;
}

int telltale_verify_es256(telltale_public_key *key, const uint8_t *bytes, size_t count, const uint8_t signature[64]) {
    ECDSA_SIG *numbers = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, 32, NULL);
    BIGNUM *s = BN_bin2bn(signature + 32, 32, NULL);
    if (numbers == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(numbers, r, s) != 1) {
        ECDSA_SIG_free(numbers);
        BN_free(r);
        BN_free(s);
        ERR_clear_error();
        return 0;
    }
    uint8_t *der = NULL;
    int der_count = i2d_ECDSA_SIG(numbers, &der);
    ECDSA_SIG_free(numbers);
    int is_good = der_count > 0 && verify(key, EVP_sha256(), bytes, count, der, (size_t)der_count);
    OPENSSL_free(der);
    return is_good;
}

int telltale_verify_ed25519(telltale_public_key *key, const uint8_t *bytes, size_t count, const uint8_t signature[64]) {
    return verify(key, NULL, bytes, count, signature, 64);
}
