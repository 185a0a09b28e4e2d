#include "CTestSigner.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>

int testsigner_hs256(const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count, uint8_t signature[32]) {
    unsigned int length = 32;
    return HMAC(EVP_sha256(), key, (int)key_count, bytes, count, signature, &length) != NULL;
}

static int sign(EVP_PKEY *key, const EVP_MD *digest, const uint8_t *bytes, size_t count, uint8_t *signature,
                size_t *length) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_done = key && context && EVP_DigestSignInit(context, NULL, digest, NULL, key) == 1 &&
                  EVP_DigestSign(context, signature, length, bytes, count) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return is_done;
}

int testsigner_es256(const uint8_t key[32], const uint8_t *bytes, size_t count, uint8_t signature[64], uint8_t der[80],
                     size_t *der_count) {
    BIGNUM *number = BN_bin2bn(key, 32, NULL);
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    EC_POINT *point = EC_POINT_new(group);
    uint8_t public[65];
    EC_POINT_mul(group, point, number, NULL, NULL, NULL);
    EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, public, sizeof public, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, public, sizeof public);
    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number);
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *private = NULL;
    EVP_PKEY_fromdata_init(context);
    EVP_PKEY_fromdata(context, &private, EVP_PKEY_KEYPAIR, parameters);
    *der_count = 80;
    int is_done = sign(private, EVP_sha256(), bytes, count, der, der_count);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    EC_POINT_free(point);
    EC_GROUP_free(group);
    BN_free(number);
    if (!is_done) return 0;
    const uint8_t *start = der;
    ECDSA_SIG *numbers = d2i_ECDSA_SIG(NULL, &start, (long)*der_count);
    if (numbers == NULL) return 0;
    BN_bn2binpad(ECDSA_SIG_get0_r(numbers), signature, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(numbers), signature + 32, 32);
    ECDSA_SIG_free(numbers);
    return 1;
}

int testsigner_ed25519(const uint8_t key[32], const uint8_t *bytes, size_t count, uint8_t signature[64]) {
    size_t length = 64;
    return sign(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key, 32), NULL, bytes, count, signature, &length);
}
