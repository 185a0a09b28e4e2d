#ifndef TELLTALE_TLS_CONTEXT_H
#define TELLTALE_TLS_CONTEXT_H

#include "CTelltaleTLS.h"

#include <openssl/ssl.h>

struct telltale_tls_context {
    SSL_CTX *ssl;
};

// Writes what failed, and OpenSSL's reason. Its queue of errors is empty then.
__attribute__((visibility("hidden"))) void telltale_tls_tell(char *error, size_t size, const char *what);

#endif
