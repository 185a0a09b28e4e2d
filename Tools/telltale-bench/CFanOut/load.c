// One publisher and thousands of subscribers in one thread. See CFanOut.h.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "CFanOut.h"

enum { READ_BYTES = 1 << 18, WRITE_BYTES = 1 << 16, EVENTS_PER_PASS = 128, RING = 1 << 16, NO_DIGITS = 0xFF };

enum state { CLOSED, CONNECTING, OPENING, READY };

typedef struct {
    int fd;
    enum state state;
    // Of a number that is cut off by the end of a read.
    uint8_t digits;
    uint64_t number;
    // The number of each followed key's newest event that came.
    int64_t *newest;
    uint8_t *opening;
    size_t opening_count, opening_sent;
    // How much of the needle stands at the end of what came, and how often it came.
    size_t matched;
    int needles;
    uint8_t *transcript;
    size_t transcript_count, transcript_capacity;
} peer;

struct fanout_load {
    struct sockaddr_in address;
    int epoll, subscribers, keys, per;
    peer *peers;  // the publisher last
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
    uint64_t latencies[FANOUT_BUCKETS];
    uint8_t *input;
};

int64_t fanout_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int fanout_cpu_count(void) {
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int fanout_pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

fanout_load *fanout_make(uint16_t port, int subscribers, int keys, int per) {
    fanout_load *load = calloc(1, sizeof *load);
    load->address.sin_family = AF_INET;
    load->address.sin_port = htons(port);
    load->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->subscribers = subscribers;
    load->keys = keys;
    load->per = per;
    load->fan = (uint64_t)subscribers * per / keys;
    load->peers = calloc(subscribers + 1, sizeof(peer));
    for (int i = 0; i <= subscribers; i++) {
        load->peers[i].fd = -1;
        load->peers[i].digits = NO_DIGITS;
        if (i == subscribers) break;
        load->peers[i].newest = malloc(sizeof(int64_t) * per);
        for (int j = 0; j < per; j++) load->peers[i].newest[j] = ((int64_t)i * per + j) % keys - keys;
    }
    load->output = malloc(2 * WRITE_BYTES);
    load->input = malloc(READ_BYTES);
    load->sent_at = calloc(RING, sizeof(int64_t));
    // Intended times are kept to the microsecond, not to the kernel's usual 50.
    prctl(PR_SET_TIMERSLACK, 1);
    return load;
}

static void close_peer(fanout_load *load, peer *peer) {
    if (peer->fd < 0) return;
    // A reset leaves no connection in TIME_WAIT, of which tens of thousands would use up the ports.
    struct linger linger = {1, 0};
    setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(peer->fd);
    peer->fd = -1;
    if (peer->state == READY && peer != &load->peers[load->subscribers]) load->ready--;
    peer->state = CLOSED;
}

void fanout_disconnect(fanout_load *load) {
    for (int i = 0; i < load->subscribers; i++) close_peer(load, &load->peers[i]);
}

void fanout_free(fanout_load *load) {
    for (int i = 0; i <= load->subscribers; i++) {
        close_peer(load, &load->peers[i]);
        free(load->peers[i].newest);
        free(load->peers[i].opening);
        free(load->peers[i].transcript);
    }
    close(load->epoll);
    free(load->peers);
    free(load->needle);
    free(load->message);
    free(load->output);
    free(load->input);
    free(load->sent_at);
    free(load);
}

static void set_opening(peer *peer, const uint8_t *bytes, size_t count) {
    peer->opening = realloc(peer->opening, count ? count : 1);
    memcpy(peer->opening, bytes, count);
    peer->opening_count = count;
}

void fanout_opening(fanout_load *load, int subscriber, const uint8_t *bytes, size_t count) {
    set_opening(&load->peers[subscriber], bytes, count);
}

void fanout_readiness(fanout_load *load, const uint8_t *needle, size_t count, int times, int to_line_end) {
    load->needs_line_end = to_line_end;
    load->needle = realloc(load->needle, count);
    memcpy(load->needle, needle, count);
    load->needle_count = count;
    load->needle_times = times;
}

void fanout_keep_transcripts(fanout_load *load) {
    load->keeps_transcripts = true;
}

const uint8_t *fanout_transcript(const fanout_load *load, int subscriber, size_t *count) {
    *count = load->peers[subscriber].transcript_count;
    return load->peers[subscriber].transcript;
}

// MARK: What comes

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

static int64_t intended(const fanout_load *load, uint64_t number) {
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
        int64_t took = now - intended(load, number);
        load->latencies[bucket(took > 0 ? took : 0)]++;
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

// A server that speaks first makes its clients' systems take each connection for a conversation, and keep ACKs back for
// answers that never come: the ACKs are then made while the server sends, in its time. Who has been quiet with a client
// for 40 ms has ended that state; a benchmark never is, so it is ended here, for every server.
static void acknowledge_at_once(const peer *peer) {
    int on = 1;
    setsockopt(peer->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

// How many bytes of the input belong to the opening; the peer is READY when they were the last of it.
static size_t take_opening(fanout_load *load, peer *peer, const uint8_t *bytes, size_t count) {
    bool is_publisher = peer == &load->peers[load->subscribers];
    size_t taken = 0;
    while (taken < count && peer->state == OPENING) {
        uint8_t byte = bytes[taken++];
        // No needle has a beginning that comes again within it, but for its first byte.
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

static void watch(fanout_load *load, int index, bool writable, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.u32 = (uint32_t)index};
    epoll_ctl(load->epoll, operation, load->peers[index].fd, &event);
}

static void drop(fanout_load *load, int index) {
    load->counts.cut++;
    close_peer(load, &load->peers[index]);
}

static void receive(fanout_load *load, int index) {
    peer *peer = &load->peers[index];
    ssize_t count = recv(peer->fd, load->input, READ_BYTES, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return drop(load, index);
    const uint8_t *bytes = load->input;
    size_t rest = (size_t)count;
    if (index == load->subscribers && peer->state == READY) {
        for (size_t i = 0; i < rest; i++) load->counts.answers += bytes[i] == '\n';
        return;
    }
    if (peer->state == OPENING) {
        size_t taken = take_opening(load, peer, bytes, rest);
        // A resume brings rows before it is over; a fresh subscription's are old ones.
        if (index < load->subscribers) take_rows(load, index, bytes, taken, fanout_now());
        bytes += taken;
        rest -= taken;
    }
    if (rest == 0 || index == load->subscribers) return;
    load->counts.bytes += rest;
    take_rows(load, index, bytes, rest, fanout_now());
}

// MARK: Connections

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
    if (connect(peer->fd, (struct sockaddr *)&load->address, sizeof load->address) < 0 && errno != EINPROGRESS)
        return errno;
    watch(load, index, true, EPOLL_CTL_ADD);
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
    }
    while (peer->opening_sent < peer->opening_count) {
        ssize_t sent = send(
            peer->fd, peer->opening + peer->opening_sent, peer->opening_count - peer->opening_sent,
            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN ? 0 : errno;
        peer->opening_sent += (size_t)sent;
    }
    watch(load, index, false, EPOLL_CTL_MOD);
    return 0;
}

static void flush_output(fanout_load *load);

// One wait, and what came of it; an errno or 0.
static int pass(fanout_load *load, int64_t wait) {
    struct epoll_event events[EVENTS_PER_PASS];
    if (wait < 0) wait = 0;
    struct timespec limit = {wait / 1000000000LL, wait % 1000000000LL};
    int count = epoll_pwait2(load->epoll, events, EVENTS_PER_PASS, &limit, NULL);
    if (count < 0) return errno == EINTR ? 0 : errno;
    for (int i = 0; i < count; i++) {
        int index = (int)events[i].data.u32;
        peer *peer = &load->peers[index];
        if (peer->fd < 0) continue;
        if (peer->state == CONNECTING || (peer->state == OPENING && events[i].events & EPOLLOUT)) {
            int error = go_on_opening(load, index);
            if (error) return error;
        } else if (index == load->subscribers && events[i].events & EPOLLOUT) {
            flush_output(load);
        }
        if (peer->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(load, index);
        if (index == load->subscribers && peer->fd < 0) return ECONNRESET;
    }
    return 0;
}

int fanout_connect_publisher(
    fanout_load *load, const uint8_t *opening, size_t opening_count, const uint8_t *needle, size_t needle_count
) {
    int index = load->subscribers;
    set_opening(&load->peers[index], opening, opening_count);
    fanout_readiness(load, needle, needle_count, 1, 0);
    int error = start_connecting(load, index);
    int64_t end = fanout_now() + 10000000000LL;
    while (!error && load->peers[index].state != READY) {
        if (fanout_now() >= end) return ETIMEDOUT;
        error = pass(load, 10000000);
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
            // Subscribers become ready in about the order in which they began.
            waiting = next - load->ready;
            for (; next < load->subscribers && waiting < at_once; next++, waiting++) {
                if (load->peers[next].state != CLOSED) continue;
                int error = start_connecting(load, next);
                if (error) return error;
            }
        }
        uint64_t cut = load->counts.cut;
        int error = pass(load, 10000000);
        if (error) return error;
        if (load->counts.cut > cut) return ECONNRESET;
    }
    load->connect_time = fanout_now() - start;
    return 0;
}

int fanout_ready_count(const fanout_load *load) { return load->ready; }
int64_t fanout_connect_time(const fanout_load *load) { return load->connect_time; }

int fanout_current_count(const fanout_load *load) {
    int count = 0;
    for (int i = 0; i < load->subscribers; i++) {
        bool is_current = true;
        for (int j = 0; j < load->per && is_current; j++) {
            int64_t newest = load->peers[i].newest[j];
            is_current = newest + load->keys >= (int64_t)load->next;
        }
        count += is_current;
    }
    return count;
}

int fanout_reluctant_count(const fanout_load *load) {
    int count = 0;
    for (int i = 0; i < load->subscribers; i++) {
        int is_prompt = 1;
        socklen_t length = sizeof is_prompt;
        getsockopt(load->peers[i].fd, IPPROTO_TCP, TCP_QUICKACK, &is_prompt, &length);
        count += !is_prompt;
    }
    return count;
}

// MARK: The publisher

void fanout_message(
    fanout_load *load, const uint8_t *bytes, size_t count, size_t key_position, size_t number_position
) {
    load->message = realloc(load->message, count);
    memcpy(load->message, bytes, count);
    load->message_count = count;
    load->key_position = key_position;
    load->number_position = number_position;
}

static void write_digits(uint8_t *at, int digits, uint64_t number) {
    for (int i = digits - 1; i >= 0; i--, number /= 10) at[i] = (uint8_t)('0' + number % 10);
}

static void append_event(fanout_load *load, int64_t now) {
    uint8_t *at = load->output + load->output_count;
    memcpy(at, load->message, load->message_count);
    write_digits(at + load->key_position, FANOUT_KEY_DIGITS, load->next % load->keys);
    write_digits(at + load->number_position, FANOUT_NUMBER_DIGITS, load->next);
    load->output_count += load->message_count;
    load->sent_at[load->next % RING] = now;
    load->next++;
    load->counts.sent++;
}

static void flush_output(fanout_load *load) {
    peer *publisher = &load->peers[load->subscribers];
    while (load->output_sent < load->output_count) {
        ssize_t sent = send(
            publisher->fd, load->output + load->output_sent, load->output_count - load->output_sent,
            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0) break;
        load->output_sent += (size_t)sent;
    }
    bool wants = load->output_sent < load->output_count;
    if (!wants) load->output_sent = load->output_count = 0;
    if (wants != load->wants_writable) watch(load, load->subscribers, wants, EPOLL_CTL_MOD);
    load->wants_writable = wants;
}

// Sends what is due, and returns when the next event will be.
static int64_t publish(fanout_load *load, int64_t now) {
    while (load->is_publishing && load->output_count == 0) {
        uint64_t due;
        if (load->rate > 0) {
            uint64_t all = (uint64_t)((double)(now - load->started) * load->rate / 1e9) + 1;
            due = all - (load->next - load->first);
            if ((int64_t)due <= 0) return intended(load, load->next);
        } else {
            uint64_t on_their_way = (load->next - load->first) * load->fan - load->settled;
            uint64_t events = (on_their_way + load->fan - 1) / load->fan;
            if (events >= load->window) {
                // A server that drops would stop everything. Longer than any pace.
                int64_t silence = 3000000000;
                if (now - load->counts.last_arrival > silence && now - load->sent_at[(load->next - 1) % RING] > silence) {
                    load->counts.lost += on_their_way;
                    load->settled += on_their_way;
                    continue;
                }
                return now + 10000000;
            }
            due = load->window - events;
        }
        for (; due > 0 && load->output_count < WRITE_BYTES; due--) append_event(load, now);
        flush_output(load);
    }
    return now + 1000000000;
}

// What has not come by now never will, and is not waited for.
static void settle(fanout_load *load) {
    for (int i = 0; i < load->subscribers; i++) {
        for (int j = 0; j < load->per; j++) {
            int64_t key = ((int64_t)i * load->per + j) % load->keys;
            // The newest event of this key so far.
            int64_t last = (int64_t)load->next - 1;
            load->peers[i].newest[j] = last - ((last - key) % load->keys + load->keys) % load->keys;
        }
    }
}

int fanout_post(fanout_load *load, uint64_t count) {
    uint64_t answers = load->counts.answers + count;
    uint64_t sent = 0;
    int64_t end = fanout_now() + 60000000000LL;
    while (load->counts.answers < answers) {
        if (fanout_now() >= end) return ETIMEDOUT;
        while (load->output_count == 0 && sent < count) {
            for (; sent < count && load->output_count < WRITE_BYTES; sent++) append_event(load, 0);
            flush_output(load);
        }
        int error = pass(load, 10000000);
        if (error) return error;
    }
    return 0;
}

void fanout_rate(fanout_load *load, double events_per_second, int window) {
    settle(load);
    load->rate = events_per_second;
    load->window = (uint64_t)(window < RING ? window : RING - 1);
    load->started = fanout_now();
    load->first = load->next;
    load->settled = 0;
    load->is_counting = false;
    load->is_publishing = true;
}

void fanout_hold(fanout_load *load) {
    load->is_publishing = false;
}

void fanout_begin_counting(fanout_load *load) {
    load->is_counting = true;
    load->first_counted = load->next;
    memset(load->latencies, 0, sizeof load->latencies);
}

int fanout_run(fanout_load *load, int64_t end, int until_current) {
    while (true) {
        int64_t now = fanout_now();
        if (now >= end) return 0;
        if (until_current && (load->next - load->first) * load->fan <= load->settled) return 0;
        int64_t next = publish(load, now);
        int error = pass(load, (next < end ? next : end) - now);
        if (error) return error;
    }
}

fanout_counts fanout_counted(const fanout_load *load) { return load->counts; }
const uint64_t *fanout_latencies(const fanout_load *load) { return load->latencies; }
