// Input: rows that arrive at subscribers, and the answers to an opening.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "load.h"

static int bucket(uint64_t value) {
    if (value < 128) return (int)value;
    int exponent = 63 - __builtin_clzll(value);
    return (exponent - 6) * 128 + (int)((value >> (exponent - 7)) & 127);
}

uint64_t fanout_bucket_value(int bucket) {
    if (bucket < 128) return bucket;
    int exponent = bucket / 128 + 6;
    uint64_t low = (1ULL << exponent) | ((uint64_t)(bucket % 128) << (exponent - 7));
    return low + (1ULL << (exponent - 7)) / 2;
}

int64_t load_intended(const fanout_load *load, uint64_t number) {
    if (load->rate > 0) return load->started + (int64_t)((double)(number - load->first) * 1e9 / load->rate);
    return load->sent_at[number % RING];
}

static void deliver(fanout_load *load, int index, uint64_t number, int64_t now) {
    int key = (int)(number % load->keys);
    int slot = (int)(((int64_t)key - (int64_t)index * load->per) % load->keys);
    if (slot < 0) slot += load->keys;
    if (slot >= load->per) return;
    int64_t *newest = &load->peers[index].newest[slot];
    if ((int64_t)number <= *newest || number >= load->next) {
        load->counts.repeated++;
        return;
    }
    uint64_t folded = (number - *newest) / load->keys - 1;
    *newest = (int64_t)number;
    load->settled += 1 + folded;
    load->counts.arrived++;
    load->counts.folded += folded;
    load->counts.last_arrival = now;
    if (load->is_counting && number >= load->first_counted) {
        int64_t took = now - load_intended(load, number);
        load->latencies[load->peers[index].group][bucket(took > 0 ? took : 0)]++;
    }
}

static void take_rows(fanout_load *load, int index, const uint8_t *bytes, size_t count, int64_t now) {
    peer *peer = &load->peers[index];
    const uint8_t *at = bytes, *end = bytes + count;
    while (at < end) {
        if (peer->digits == NO_DIGITS) {
            at = memchr(at, FANOUT_MARK, end - at);
            if (!at) return;
            at++;
            peer->digits = 0;
            peer->number = 0;
        }
        while (at < end && peer->digits < FANOUT_NUMBER_DIGITS) {
            peer->number = peer->number * 10 + (uint64_t)(*at++ - '0');
            peer->digits++;
        }
        if (peer->digits < FANOUT_NUMBER_DIGITS) return;
        peer->digits = NO_DIGITS;
        deliver(load, index, peer->number, now);
    }
}

// When a server speaks first, the client's system takes the connection for a conversation and delays its ACKs. The ACKs
// are then made while the server sends, in the server's time. A pause ends that state, and a benchmark never pauses, so
// the state is ended here for every server.
static void acknowledge_at_once(const peer *peer) {
    int on = 1;
    setsockopt(peer->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

// Returns how many bytes of the input belong to the opening. The peer becomes READY with the last of them.
static size_t take_opening(fanout_load *load, peer *peer, const uint8_t *bytes, size_t count) {
    bool is_publisher = peer == &load->peers[load->subscribers];
    size_t taken = 0;
    while (taken < count && peer->state == OPENING) {
        uint8_t byte = bytes[taken++];
        // No needle contains a prefix of itself, except for its first byte.
        if (peer->needles < load->needle_times) {
            if (byte != load->needle[peer->matched]) peer->matched = 0;
            if (byte == load->needle[peer->matched]) peer->matched++;
            if (peer->matched < load->needle_count) continue;
            peer->matched = 0;
            if (++peer->needles < load->needle_times || load->needs_line_end) continue;
        } else if (byte != '\n') {
            continue;
        }
        peer->state = READY;
        if (is_publisher) continue;
        load->ready++;
        acknowledge_at_once(peer);
    }
    if (load->keeps_transcripts && !is_publisher) {
        if (peer->transcript_count + taken > peer->transcript_capacity) {
            peer->transcript_capacity = 2 * (peer->transcript_count + taken);
            peer->transcript = realloc(peer->transcript, peer->transcript_capacity);
        }
        memcpy(peer->transcript + peer->transcript_count, bytes, taken);
        peer->transcript_count += taken;
    }
    return taken;
}

static void drop(fanout_load *load, int index) {
    load->counts.cut++;
    load_close_peer(load, &load->peers[index]);
}

static void take(fanout_load *load, int index, const uint8_t *bytes, size_t rest) {
    peer *peer = &load->peers[index];
    if (index == load->subscribers && peer->state == READY) {
        for (size_t i = 0; i < rest; i++) load->counts.answers += bytes[i] == '\n';
        return;
    }
    if (peer->state == OPENING) {
        size_t taken = take_opening(load, peer, bytes, rest);
        // A resume brings rows before its end. The rows of a new subscription count as repeated.
        if (index < load->subscribers) take_rows(load, index, bytes, taken, fanout_now());
        bytes += taken;
        rest -= taken;
    }
    if (rest == 0 || index == load->subscribers) return;
    load->counts.bytes += rest;
    take_rows(load, index, bytes, rest, fanout_now());
}

void load_receive(fanout_load *load, int index) {
    peer *peer = &load->peers[index];
    do {
        ssize_t count = load_recv(peer, load->input, READ_BYTES);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (count <= 0) return drop(load, index);
        take(load, index, load->input, (size_t)count);
        // A record that was read with another one wakes nobody.
    } while (peer->ssl);
}
