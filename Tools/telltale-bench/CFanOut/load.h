// The parts of a fan-out load (see CFanOut.h) that its files share.
#ifndef CFANOUT_LOAD_H
#define CFANOUT_LOAD_H

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include "CFanOut.h"

enum { READ_BYTES = 1 << 18, WRITE_BYTES = 1 << 16, EVENTS_PER_PASS = 128, RING = 1 << 16, NO_DIGITS = 0xFF };

enum state { CLOSED, CONNECTING, HANDSHAKING, OPENING, READY };

typedef struct {
    int fd;
    enum state state;
    // The server's port in network order, 0 for that of the load; and whose latencies its deliveries join.
    in_port_t port;
    int group;
    // NULL in plain.
    SSL *ssl;
    SSL_SESSION *session;
    // How many digits of a number have come when a read ends within it, and their value.
    uint8_t digits;
    uint64_t number;
    // The number of the newest event that came, by followed key.
    int64_t *newest;
    uint8_t *opening;
    size_t opening_count, opening_sent;
    // How many bytes of the needle the input ends with, and how often the needle has come.
    size_t matched;
    int needles;
    uint8_t *transcript;
    size_t transcript_count, transcript_capacity;
} peer;

struct fanout_load {
    struct sockaddr_in address;
    // Of the subscribers; NULL in plain. The publisher always is plain.
    SSL_CTX *tls;
    in_port_t tls_port;
    int resumed;
    int epoll, subscribers, keys, per;
    peer *peers;  // the publisher is the last
    uint8_t *needle;
    size_t needle_count;
    int needle_times;
    bool needs_line_end;
    bool keeps_transcripts;
    int ready;
    int64_t connect_time;

    uint8_t *message;
    size_t message_count, key_position, number_position;
    uint8_t *output;  // room for WRITE_BYTES and one message
    size_t output_count, output_sent;
    bool wants_writable;

    bool is_publishing;
    double rate;
    uint64_t window, fan;
    int64_t started;           // when the event `first` was intended
    uint64_t first, next;      // event numbers
    uint64_t settled;          // deliveries that came or never will, of all events from `first` on
    uint64_t first_counted;
    bool is_counting;
    int64_t *sent_at;          // by number % RING, as fast as possible
    fanout_counts counts;
    uint64_t latencies[FANOUT_GROUPS][FANOUT_BUCKETS];
    uint8_t *input;
};

// Connections (connections.c).
void load_set_opening(peer *peer, const uint8_t *bytes, size_t count);
void load_close_peer(fanout_load *load, peer *peer);
void load_watch(fanout_load *load, int index, bool writable, int operation);
// Waits once for at most `wait` nanoseconds, and handles the events. 0 or an errno.
int load_pass(fanout_load *load, int64_t wait);

// TLS (tls.c). 0 or an errno; load_handshake returns EAGAIN until it is finished.
int load_begin_tls(fanout_load *load, peer *peer);
int load_handshake(fanout_load *load, int index);
void load_end_tls(peer *peer);
// As send(2) and recv(2).
ssize_t load_send(peer *peer, const uint8_t *bytes, size_t count);
ssize_t load_recv(peer *peer, uint8_t *bytes, size_t count);

// Input (input.c).
void load_receive(fanout_load *load, int index);
// The time at which an event was due to be sent.
int64_t load_intended(const fanout_load *load, uint64_t number);

// The publisher (publisher.c).
void load_flush_output(fanout_load *load);
// Sends the events that are due, and returns the time at which the next one is.
int64_t load_publish(fanout_load *load, int64_t now);

#endif
