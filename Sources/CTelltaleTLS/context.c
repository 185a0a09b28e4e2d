#include "context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void telltale_tls_tell(char *error, size_t size, const char *what) {
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    snprintf(error, size, "%s: %s", what, reason ? reason : "unknown reason");
    ERR_clear_error();
}

static SSL_CTX *settings(const SSL_METHOD *method) {
    SSL_CTX *ssl = SSL_CTX_new(method);
    if (ssl == NULL) return NULL;
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // Forward secrecy and authenticated encryption alone; those of TLS 1.3 are so by definition. AES with a key of 128 bits comes
    // first: it costs the least for each row, and the curves of the handshake have the strength of 128 bits too.
    SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM+AES128:ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
    // An idle connection gives its buffers back.
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    // Tickets hold the state of a session; a cache would grow with every client.
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    return ssl;
}

static telltale_tls_context *wrapped(SSL_CTX *ssl) {
    telltale_tls_context *context = malloc(sizeof *context);
    if (context == NULL) {
        SSL_CTX_free(ssl);
        return NULL;
    }
    context->ssl = ssl;
    return context;
}

// OpenSSL's own one asks on the terminal, and holds up the caller until there is an answer.
static int refuse_passphrase(char *buffer, int size, int for_writing, void *was_asked) {
    (void)buffer, (void)size, (void)for_writing;
    if (was_asked != NULL) *(int *)was_asked = 1;
    return -1;
}

telltale_tls_context *telltale_tls_server(const char *certificate, const char *key, char *error, size_t size) {
    ERR_clear_error();
    SSL_CTX *ssl = settings(TLS_server_method());
    if (ssl == NULL) {
        telltale_tls_tell(error, size, "TLS");
        return NULL;
    }
    int was_asked = 0;
    SSL_CTX_set_default_passwd_cb(ssl, refuse_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, &was_asked);
    if (SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1) {
        telltale_tls_tell(error, size, "the certificate cannot be read");
    } else if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
        telltale_tls_tell(error, size, "the key cannot be read");
        if (was_asked) {
            snprintf(error, size, "%s", "the key is encrypted, and no passphrase is asked for; "
                                        "decrypt it: openssl pkey -in KEY -out FILE");
        }
    } else if (SSL_CTX_check_private_key(ssl) != 1) {
        telltale_tls_tell(error, size, "the key is not that of the certificate");
    } else {
        SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL);
        SSL_CTX_set_session_id_context(ssl, (const unsigned char *)"telltale", 8);
        return wrapped(ssl);
    }
    SSL_CTX_free(ssl);
    return NULL;
}

telltale_tls_context *telltale_tls_client(const char *authorities, char *error, size_t size) {
    ERR_clear_error();
    SSL_CTX *ssl = settings(TLS_client_method());
    if (ssl == NULL) {
        telltale_tls_tell(error, size, "TLS");
        return NULL;
    }
    int status = authorities ? SSL_CTX_load_verify_locations(ssl, authorities, NULL) : SSL_CTX_set_default_verify_paths(ssl);
    if (status != 1) {
        telltale_tls_tell(error, size, "the authorities cannot be read");
        SSL_CTX_free(ssl);
        return NULL;
    }
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    return wrapped(ssl);
}

void telltale_tls_context_free(telltale_tls_context *context) {
    if (context == NULL) return;
    SSL_CTX_free(context->ssl);
    free(context);
}

int64_t telltale_tls_expiry(const telltale_tls_context *context) {
    X509 *certificate = SSL_CTX_get0_certificate(context->ssl);
    struct tm date;
    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &date) != 1) return 0;
    return (int64_t)timegm(&date);
}
