#include "context.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct telltale_tls {
    SSL *ssl;
    BIO *in;
    // Bytes that `in` has taken since it was made.
    size_t fed;
    // Messages of the handshake's kind that came behind it, and the plaintext that came.
    uint64_t messages, plaintext;
    int is_established, is_cut;
    // Where ciphertext goes during telltale_tls_encrypt: memory of the caller. NULL at all other times.
    uint8_t *room;
    size_t room_size, room_used;
    // Ciphertext that waits. An idle connection has none, and holds no memory for it.
    uint8_t *waiting;
    size_t waiting_size, waiting_start, waiting_end;
};

// A memory BIO keeps the room of the most that it ever held. From so many bytes on an empty one is made anew: an idle
// connection does not hold the room of its handshake.
enum { KEPT_ROOM = 1024 };

// A peer may ask for new keys behind the handshake: so often without reason, and once more for so much plaintext. OpenSSL has no bound,
// and answers each within one SSL_read: a peer of 1 Mbit/s would hold the loop up for ever.
enum { FREE_MESSAGES = 32, BYTES_A_MESSAGE = 65536 };

static void count_message(int is_sent, int version, int type, const void *bytes, size_t count, SSL *ssl, void *connection) {
    (void)version, (void)bytes, (void)count, (void)ssl;
    telltale_tls *tls = connection;
    if (is_sent || type != SSL3_RT_HANDSHAKE || tls == NULL || !tls->is_established) return;
    tls->messages += 1;
    if (tls->messages <= FREE_MESSAGES + tls->plaintext / BYTES_A_MESSAGE) return;
    tls->is_cut = 1;
    // SSL_read finds nothing more.
    BIO_reset(tls->in);
}

static BIO *fresh(void) {
    BIO *bio = BIO_new(BIO_s_mem());
    // Empty means: more may come.
    if (bio != NULL) BIO_set_mem_eof_return(bio, -1);
    return bio;
}

// Appends to the ciphertext that waits.
static int keep(telltale_tls *tls, const uint8_t *bytes, size_t count) {
    if (tls->waiting_size - tls->waiting_end < count) {
        size_t size = (tls->waiting_end + count) * 2;
        uint8_t *grown = realloc(tls->waiting, size);
        if (grown == NULL) return 0;
        tls->waiting = grown;
        tls->waiting_size = size;
    }
    memcpy(tls->waiting + tls->waiting_end, bytes, count);
    tls->waiting_end += count;
    return 1;
}

// Where OpenSSL's ciphertext goes. A memory BIO would copy each record once more, and keep a buffer for each connection, which is in no
// cache when the next row comes.
static int out_write(BIO *bio, const char *bytes, size_t count, size_t *written) {
    telltale_tls *tls = BIO_get_data(bio);
    if (tls->room != NULL) {
        if (count <= tls->room_size - tls->room_used) {
            memcpy(tls->room + tls->room_used, bytes, count);
            tls->room_used += count;
            *written = count;
            return 1;
        }
        // All of it stands in one place.
        if (!keep(tls, tls->room, tls->room_used)) return 0;
        tls->room = NULL;
    }
    if (!keep(tls, (const uint8_t *)bytes, count)) return 0;
    *written = count;
    return 1;
}

static long out_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *out_method(void) {
    static BIO_METHOD *method;
    if (method != NULL) return method;
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "telltale");
    if (made == NULL || BIO_meth_set_write_ex(made, out_write) != 1 || BIO_meth_set_ctrl(made, out_control) != 1) {
        BIO_meth_free(made);
        return NULL;
    }
    BIO_METHOD *none = NULL;
    // Loops may begin on several threads at once.
    if (!__atomic_compare_exchange_n(&method, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) BIO_meth_free(made);
    return method;
}

static BIO *make_out(telltale_tls *tls) {
    BIO_METHOD *method = out_method();
    BIO *bio = method != NULL ? BIO_new(method) : NULL;
    if (bio == NULL) return NULL;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
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
    BIO *out = make_out(tls);
    if (tls->ssl == NULL || tls->in == NULL || out == NULL) {
        SSL_free(tls->ssl);
        BIO_free(tls->in);
        BIO_free(out);
        free(tls);
        return NULL;
    }
    SSL_set_bio(tls->ssl, tls->in, out);
    SSL_set_msg_callback(tls->ssl, count_message);
    SSL_set_msg_callback_arg(tls->ssl, tls);
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
    free(tls->waiting);
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
    if (status == 1) {
        tls->is_established = 1;
        return 1;
    }
    int why = SSL_get_error(tls->ssl, status);
    // The errors of a failure stay for telltale_tls_reason.
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

long telltale_tls_read(telltale_tls *tls, uint8_t *bytes, size_t count) {
    ERR_clear_error();
    int taken = SSL_read(tls->ssl, bytes, count > INT_MAX ? INT_MAX : (int)count);
    if (tls->is_cut) {
        ERR_clear_error();
        return -2;
    }
    if (taken > 0) {
        tls->plaintext += (uint64_t)taken;
        return taken;
    }
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
        ERR_clear_error();
        return -2;
    }
}

long telltale_tls_encrypt(telltale_tls *tls, const uint8_t *bytes, size_t count, uint8_t *room, size_t size) {
    // Ciphertext that waits leaves first, so that all of it has to wait then.
    tls->room = telltale_tls_waiting(tls) == 0 ? room : NULL;
    tls->room_size = size;
    tls->room_used = 0;
    while (count > 0) {
        // The queue of errors is empty before, and is not looked at after a success: clearing it costs a tenth of a short write.
        int written = SSL_write(tls->ssl, bytes, count > INT_MAX ? INT_MAX : (int)count);
        if (written <= 0) break;
        bytes += written;
        count -= (size_t)written;
    }
    size_t used = tls->room != NULL ? tls->room_used : 0;
    tls->room = NULL;
    if (count == 0) return (long)used;
    ERR_clear_error();
    return -1;
}

int telltale_tls_update_keys(telltale_tls *tls) {
    ERR_clear_error();
    int is_asked = SSL_key_update(tls->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(tls->ssl) == 1;
    ERR_clear_error();
    return is_asked;
}

void telltale_tls_shutdown(telltale_tls *tls) {
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

size_t telltale_tls_waiting(telltale_tls *tls) { return tls->waiting_end - tls->waiting_start; }

size_t telltale_tls_take(telltale_tls *tls, uint8_t *bytes, size_t count) {
    size_t taken = telltale_tls_waiting(tls);
    if (taken > count) taken = count;
    if (taken > 0) memcpy(bytes, tls->waiting + tls->waiting_start, taken);
    tls->waiting_start += taken;
    if (telltale_tls_waiting(tls) == 0) {
        free(tls->waiting);
        tls->waiting = NULL;
        tls->waiting_size = tls->waiting_start = tls->waiting_end = 0;
    }
    return taken;
}

void telltale_tls_reason(telltale_tls *tls, char *error, size_t size) {
    long result = SSL_get_verify_result(tls->ssl);
    if (result != X509_V_OK) {
        snprintf(error, size, "the certificate is not accepted: %s", X509_verify_cert_error_string(result));
        ERR_clear_error();
    } else {
        telltale_tls_tell(error, size, "the handshake failed");
    }
}
