// Subscribers that speak TLS. A session ticket of one connection is used by the next one of the same subscriber.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "load.h"

// Keeps the newest ticket.
static int keep_session(SSL *ssl, SSL_SESSION *session) {
    peer *peer = SSL_get_app_data(ssl);
    SSL_SESSION_free(peer->session);
    peer->session = session;
    return 1;
}

int fanout_encrypt(fanout_load *load, uint16_t port) {
    load->tls = SSL_CTX_new(TLS_client_method());
    if (load->tls == NULL) return ENOMEM;
    load->tls_port = htons(port);
    SSL_CTX_set_mode(load->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                    SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(load->tls, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(load->tls, keep_session);
    // OpenSSL writes to a socket that the server may have closed.
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

int fanout_resumed_count(const fanout_load *load) { return load->resumed; }

int load_begin_tls(fanout_load *load, peer *peer) {
    peer->ssl = SSL_new(load->tls);
    if (peer->ssl == NULL || SSL_set_fd(peer->ssl, peer->fd) != 1) return ENOMEM;
    SSL_set_app_data(peer->ssl, peer);
    if (peer->session) SSL_set_session(peer->ssl, peer->session);
    SSL_set_connect_state(peer->ssl);
    return 0;
}

void load_end_tls(peer *peer) {
    if (peer->ssl == NULL) return;
    // A session that was not shut down would lose its ticket.
    SSL_set_shutdown(peer->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(peer->ssl);
    peer->ssl = NULL;
}

static ssize_t outcome(peer *peer, int count) {
    if (count > 0) return count;
    switch (SSL_get_error(peer->ssl, count)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        errno = ECONNRESET;
        return -1;
    }
}

int load_handshake(fanout_load *load, int index) {
    peer *peer = &load->peers[index];
    int status = SSL_connect(peer->ssl);
    if (status == 1) {
        load->resumed += SSL_session_reused(peer->ssl);
        return 0;
    }
    if (outcome(peer, status) < 0 && errno == EAGAIN) {
        load_watch(load, index, SSL_want_write(peer->ssl), EPOLL_CTL_MOD);
        return EAGAIN;
    }
    return ECONNRESET;
}

ssize_t load_send(peer *peer, const uint8_t *bytes, size_t count) {
    if (peer->ssl == NULL) return send(peer->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return outcome(peer, SSL_write(peer->ssl, bytes, (int)count));
}

ssize_t load_recv(peer *peer, uint8_t *bytes, size_t count) {
    if (peer->ssl == NULL) return recv(peer->fd, bytes, count, MSG_DONTWAIT);
    return outcome(peer, SSL_read(peer->ssl, bytes, (int)count));
}
