// Connections: they open, say their opening, and break.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

void load_close_peer(fanout_load *load, peer *peer) {
    if (peer->fd < 0) return;
    load_end_tls(peer);
    // A reset leaves no connection in TIME_WAIT. Tens of thousands of those would use up the ports.
    struct linger linger = {1, 0};
    setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(peer->fd);
    peer->fd = -1;
    if (peer->state == READY && peer != &load->peers[load->subscribers]) load->ready--;
    peer->state = CLOSED;
}

void fanout_disconnect(fanout_load *load) {
    for (int i = 0; i < load->subscribers; i++) load_close_peer(load, &load->peers[i]);
}

void load_set_opening(peer *peer, const uint8_t *bytes, size_t count) {
    peer->opening = realloc(peer->opening, count ? count : 1);
    memcpy(peer->opening, bytes, count);
    peer->opening_count = count;
}

void load_watch(fanout_load *load, int index, bool writable, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.u32 = (uint32_t)index};
    epoll_ctl(load->epoll, operation, load->peers[index].fd, &event);
}

static int start_connecting(fanout_load *load, int index) {
    peer *peer = &load->peers[index];
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (peer->fd < 0) return errno;
    int on = 1;
    setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    peer->state = CONNECTING;
    peer->opening_sent = peer->matched = 0;
    peer->needles = 0;
    peer->digits = NO_DIGITS;
    peer->transcript_count = 0;
    struct sockaddr_in address = load->address;
    if (peer->port) address.sin_port = peer->port;
    if (load->tls && index < load->subscribers) address.sin_port = load->tls_port;
    if (connect(peer->fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS)
        return errno;
    load_watch(load, index, true, EPOLL_CTL_ADD);
    return 0;
}

static int go_on_opening(fanout_load *load, int index) {
    peer *peer = &load->peers[index];
    if (peer->state == CONNECTING) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(peer->fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error) return error;
        peer->state = OPENING;
        if (load->tls && index < load->subscribers) {
            peer->state = HANDSHAKING;
            if ((error = load_begin_tls(load, peer))) return error;
        }
    }
    if (peer->state == HANDSHAKING) {
        int error = load_handshake(load, index);
        if (error) return error == EAGAIN ? 0 : error;
        peer->state = OPENING;
    }
    while (peer->opening_sent < peer->opening_count) {
        ssize_t sent = load_send(
            peer, peer->opening + peer->opening_sent, peer->opening_count - peer->opening_sent);
        if (sent < 0) return errno == EAGAIN ? 0 : errno;
        peer->opening_sent += (size_t)sent;
    }
    load_watch(load, index, false, EPOLL_CTL_MOD);
    return 0;
}

int load_pass(fanout_load *load, int64_t wait) {
    struct epoll_event events[EVENTS_PER_PASS];
    if (wait < 0) wait = 0;
    struct timespec limit = {wait / 1000000000LL, wait % 1000000000LL};
    int count = epoll_pwait2(load->epoll, events, EVENTS_PER_PASS, &limit, NULL);
    if (count < 0) return errno == EINTR ? 0 : errno;
    for (int i = 0; i < count; i++) {
        int index = (int)events[i].data.u32;
        peer *peer = &load->peers[index];
        if (peer->fd < 0) continue;
        if (peer->state == CONNECTING || peer->state == HANDSHAKING || (peer->state == OPENING && events[i].events & EPOLLOUT)) {
            int error = go_on_opening(load, index);
            if (error) return error;
        } else if (index == load->subscribers && events[i].events & EPOLLOUT) {
            load_flush_output(load);
        }
        if (peer->fd >= 0 && peer->state >= OPENING && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) load_receive(load, index);
        if (index == load->subscribers && peer->fd < 0) return ECONNRESET;
    }
    return 0;
}

int fanout_connect_publisher(
    fanout_load *load, const uint8_t *opening, size_t opening_count, const uint8_t *needle, size_t needle_count
) {
    int index = load->subscribers;
    load_set_opening(&load->peers[index], opening, opening_count);
    fanout_readiness(load, needle, needle_count, 1, 0);
    int error = start_connecting(load, index);
    int64_t end = fanout_now() + 10000000000LL;
    while (!error && load->peers[index].state != READY) {
        if (fanout_now() >= end) return ETIMEDOUT;
        error = load_pass(load, 10000000);
    }
    return error;
}

int fanout_connect(fanout_load *load, int at_once, int64_t timeout) {
    int64_t start = fanout_now();
    int next = 0;
    while (load->ready < load->subscribers) {
        int waiting = 0;
        if (fanout_now() - start >= timeout) return ETIMEDOUT;
        if (next < load->subscribers) {
            // Subscribers become ready in about the order in which they started to connect.
            waiting = next - load->ready;
            for (; next < load->subscribers && waiting < at_once; next++, waiting++) {
                if (load->peers[next].state != CLOSED) continue;
                int error = start_connecting(load, next);
                if (error) return error;
            }
        }
        uint64_t cut = load->counts.cut;
        int error = load_pass(load, 10000000);
        if (error) return error;
        if (load->counts.cut > cut) return ECONNRESET;
    }
    load->connect_time = fanout_now() - start;
    return 0;
}
