#include "CTelltaleTLS.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct telltale_tls_context {
    SSL_CTX *ssl;
};

struct telltale_tls {
    SSL *ssl;
    BIO *in;
    BIO *out;
    // Bytes that `in` has taken since it was made.
    size_t fed;
};

// A memory BIO keeps the room of the most that it ever held. From so many bytes on an empty one is made anew: an idle
// connection does not hold the room of its handshake.
enum { KEPT_ROOM = 1024 };

static void tell(char *error, size_t size, const char *what) {
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
    // Forward secrecy and authenticated encryption alone; those of TLS 1.3 are so by definition.
    SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20");
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
        tell(error, size, "TLS");
        return NULL;
    }
    int was_asked = 0;
    SSL_CTX_set_default_passwd_cb(ssl, refuse_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, &was_asked);
    if (SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1) {
        tell(error, size, "the certificate cannot be read");
    } else if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) {
        tell(error, size, "the key cannot be read");
        if (was_asked) {
            snprintf(error, size, "%s", "the key is encrypted, and no passphrase is asked for; "
                                        "decrypt it: openssl pkey -in KEY -out FILE");
        }
    } else if (SSL_CTX_check_private_key(ssl) != 1) {
        tell(error, size, "the key is not that of the certificate");
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
        tell(error, size, "TLS");
        return NULL;
    }
    int status = authorities ? SSL_CTX_load_verify_locations(ssl, authorities, NULL) : SSL_CTX_set_default_verify_paths(ssl);
    if (status != 1) {
        tell(error, size, "the authorities cannot be read");
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

static BIO *fresh(void) {
    BIO *bio = BIO_new(BIO_s_mem());
    // Empty means: more may come.
    if (bio != NULL) BIO_set_mem_eof_return(bio, -1);
    return bio;
}

static int expect(SSL *ssl, const char *host) {
    SSL_set_connect_state(ssl);
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1) return 1;
    ERR_clear_error();
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

telltale_tls *telltale_tls_new(const telltale_tls_context *context, const char *host) {
    telltale_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) return NULL;
    tls->ssl = SSL_new(context->ssl);
    tls->in = fresh();
    tls->out = fresh();
    if (tls->ssl == NULL || tls->in == NULL || tls->out == NULL) {
        SSL_free(tls->ssl);
        BIO_free(tls->in);
        BIO_free(tls->out);
        free(tls);
        return NULL;
    }
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    if (host == NULL) {
        SSL_set_accept_state(tls->ssl);
    } else if (!expect(tls->ssl, host)) {
        telltale_tls_free(tls);
        return NULL;
    }
    return tls;
}

void telltale_tls_free(telltale_tls *tls) {
    if (tls == NULL) return;
    SSL_free(tls->ssl);
    free(tls);
}

int telltale_tls_feed(telltale_tls *tls, const uint8_t *bytes, size_t count) {
    tls->fed += count;
    while (count > 0) {
        int piece = count > INT_MAX ? INT_MAX : (int)count;
        int taken = BIO_write(tls->in, bytes, piece);
        if (taken <= 0) return 0;
        bytes += taken;
        count -= (size_t)taken;
    }
    return 1;
}

int telltale_tls_handshake(telltale_tls *tls) {
    ERR_clear_error();
    int status = SSL_do_handshake(tls->ssl);
    if (status == 1) return 1;
    int why = SSL_get_error(tls->ssl, status);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

long telltale_tls_read(telltale_tls *tls, uint8_t *bytes, size_t count) {
    ERR_clear_error();
    int taken = SSL_read(tls->ssl, bytes, count > INT_MAX ? INT_MAX : (int)count);
    if (taken > 0) return taken;
    switch (SSL_get_error(tls->ssl, taken)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        if (tls->fed > KEPT_ROOM && BIO_ctrl_pending(tls->in) == 0) {
            BIO *in = fresh();
            if (in != NULL) {
                SSL_set0_rbio(tls->ssl, in);
                tls->in = in;
                tls->fed = 0;
            }
        }
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return -1;
    default:
        return -2;
    }
}

int telltale_tls_write(telltale_tls *tls, const uint8_t *bytes, size_t count) {
    ERR_clear_error();
    while (count > 0) {
        int written = SSL_write(tls->ssl, bytes, count > INT_MAX ? INT_MAX : (int)count);
        if (written <= 0) return 0;
        bytes += written;
        count -= (size_t)written;
    }
    return 1;
}

void telltale_tls_shutdown(telltale_tls *tls) {
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

size_t telltale_tls_waiting(telltale_tls *tls) { return BIO_ctrl_pending(tls->out); }

size_t telltale_tls_take(telltale_tls *tls, uint8_t *bytes, size_t count) {
    int taken = BIO_read(tls->out, bytes, count > INT_MAX ? INT_MAX : (int)count);
    if (taken > KEPT_ROOM && BIO_ctrl_pending(tls->out) == 0) {
        BIO *out = fresh();
        if (out != NULL) {
            SSL_set0_wbio(tls->ssl, out);
            tls->out = out;
        }
    }
    return taken > 0 ? (size_t)taken : 0;
}

void telltale_tls_reason(telltale_tls *tls, char *error, size_t size) {
    long result = SSL_get_verify_result(tls->ssl);
    if (result != X509_V_OK) {
        snprintf(error, size, "the certificate is not accepted: %s", X509_verify_cert_error_string(result));
        ERR_clear_error();
    } else {
        tell(error, size, "the handshake failed");
    }
}
