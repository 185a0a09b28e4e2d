#include "CTelltaleCrypto.h"

#include <openssl/evp.h>

int telltale_sha256(const uint8_t *bytes, size_t count, uint8_t digest[32]) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL) == 1;
}
