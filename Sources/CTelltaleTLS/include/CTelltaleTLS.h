#ifndef CTELLTALETLS_H
#define CTELLTALETLS_H

#include <stddef.h>
#include <stdint.h>

/// Certificates and settings, shared by connections. Each connection holds a reference of its own.
typedef struct telltale_tls_context telltale_tls_context;
/// One connection. It does no IO: ciphertext goes in and out through memory.
typedef struct telltale_tls telltale_tls;

/// For a server: the PEM chain and its key. NULL where one cannot be used; `error` tells why.
telltale_tls_context *telltale_tls_server(const char *certificate, const char *key, char *error, size_t size);
/// For a client: the PEM file of the authorities, or NULL for those of the system.
telltale_tls_context *telltale_tls_client(const char *authorities, char *error, size_t size);
void telltale_tls_context_free(telltale_tls_context *context);
/// When the certificate of a server ends, in seconds since 1970; 0 where it is not known.
int64_t telltale_tls_expiry(const telltale_tls_context *context);

/// `host` is the name or the address that a client expects; NULL for a server. NULL where memory is short.
telltale_tls *telltale_tls_new(const telltale_tls_context *context, const char *host);
void telltale_tls_free(telltale_tls *tls);

/// Takes ciphertext of the peer. Returns 1, or 0 where memory is short.
int telltale_tls_feed(telltale_tls *tls, const uint8_t *bytes, size_t count);
/// One step of the handshake: 1 = finished, 0 = the peer has to say more, -1 = it failed.
int telltale_tls_handshake(telltale_tls *tls);
/// Plaintext: a count, 0 = there is no more now, -1 = the peer has ended its side, -2 = the peer broke the protocol, or asks for new
/// keys again and again.
long telltale_tls_read(telltale_tls *tls, uint8_t *bytes, size_t count);
/// Encrypts all of it into `room`, and returns how much ciphertext that is. Where it does not fit, or other ciphertext waits already, all
/// of it waits, and the result is 0. Returns -1 where it cannot encrypt.
long telltale_tls_encrypt(telltale_tls *tls, const uint8_t *bytes, size_t count, uint8_t *room, size_t size);
/// Asks the peer for new keys, as TLS 1.3 may. Returns 1, or 0 where it cannot be asked.
int telltale_tls_update_keys(telltale_tls *tls);
/// Says that this side ends.
void telltale_tls_shutdown(telltale_tls *tls);
/// Ciphertext for the peer that waits, in bytes.
size_t telltale_tls_waiting(telltale_tls *tls);
/// Takes ciphertext for the peer.
size_t telltale_tls_take(telltale_tls *tls, uint8_t *bytes, size_t count);
/// Why the last step failed.
void telltale_tls_reason(telltale_tls *tls, char *error, size_t size);

#endif
