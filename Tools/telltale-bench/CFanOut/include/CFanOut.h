// The two halves of a fan-out measurement that must cost next to nothing, and so are plain C: the load (one publisher,
// thousands of subscribers, one thread), and a relay that does no more than any server must, as the practical limit.
//
// Times are nanoseconds of CLOCK_MONOTONIC. Nothing here is safe against misuse; `FanOutLoad.swift` is its safe face.
#ifndef CFANOUT_H
#define CFANOUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct fanout_load fanout_load;

// Event number n is about key n % keys. Its message holds the key in FANOUT_KEY_DIGITS decimal digits and, behind a
// FANOUT_MARK, n in FANOUT_NUMBER_DIGITS. Servers pass the mark and the number on, wrapped in their protocol. The load
// only looks for marks, so it needs no knowledge of the protocol.
enum { FANOUT_MARK = '@', FANOUT_KEY_DIGITS = 7, FANOUT_NUMBER_DIGITS = 10, FANOUT_BUCKETS = 64 * 128, FANOUT_GROUPS = 16 };

typedef struct {
    uint64_t sent;       // events that the publisher has handed to its socket
    uint64_t arrived;    // deliveries
    uint64_t folded;     // events that a subscriber will never see, because a later one of the same key came first
    uint64_t repeated;   // deliveries of events that had come already
    uint64_t lost;       // given up after a long silence, while running as fast as possible
    uint64_t bytes;      // received by subscribers
    uint64_t cut;        // subscribers that the server closed
    uint64_t answers;    // lines that the publisher received
    int64_t last_arrival;
} fanout_counts;

// Subscriber i follows the keys (i * per + j) % keys, for j from 0 to per - 1.
fanout_load *fanout_make(uint16_t port, int subscribers, int keys, int per);
void fanout_free(fanout_load *load);
// From now on subscribers connect to this port, and speak TLS. 0 or an errno.
int fanout_encrypt(fanout_load *load, uint16_t port);
// How many handshakes used a ticket.
int fanout_resumed_count(const fanout_load *load);

// The opening of subscriber i (copied), and the answer to it: `needle`, `times` over (and, with `to_line_end`, the rest
// of the last one's line).
void fanout_opening(fanout_load *load, int subscriber, const uint8_t *bytes, size_t count);
void fanout_readiness(fanout_load *load, const uint8_t *needle, size_t count, int times, int to_line_end);
// Subscriber i connects to another server on this machine, which has the same events; its latencies are counted with those of
// `group`, below FANOUT_GROUPS. All subscribers are of group 0 at first.
void fanout_place(fanout_load *load, int subscriber, uint16_t port, int group);
// Keeps the input of each subscriber until it is ready, for fanout_transcript.
void fanout_keep_transcripts(fanout_load *load);
const uint8_t *fanout_transcript(const fanout_load *load, int subscriber, size_t *count);

// The publisher connects first of all. 0, or an errno; ETIMEDOUT when the needle does not come within ten seconds.
int fanout_connect_publisher(
    fanout_load *load, const uint8_t *opening, size_t opening_count, const uint8_t *needle, size_t needle_count);
// The message, with places for the digits of the key and of the number.
void fanout_message(
    fanout_load *load, const uint8_t *bytes, size_t count, size_t key_position, size_t number_position);
// Sends `count` events and waits until the server has answered each with a line. 0 or an errno.
int fanout_post(fanout_load *load, uint64_t count);

// Connects all subscribers that are not, `at_once` at a time, and waits until all are ready. 0 or an errno.
int fanout_connect(fanout_load *load, int at_once, int64_t timeout);
int fanout_ready_count(const fanout_load *load);
// How long it took from the first connect to the last readiness, and from its own connect for the slowest one.
int64_t fanout_connect_time(const fanout_load *load);
// Breaks all subscribers' connections at once.
void fanout_disconnect(fanout_load *load);
// Subscribers that have seen the newest event of each key that they follow.
int fanout_current_count(const fanout_load *load);
// Subscribers whose system keeps ACKs back for something to send with them; to whose cost depends on the server.
int fanout_reluctant_count(const fanout_load *load);

// Events a second, at intended times that wait for no delivery; or 0: as fast as possible, with at most `window`
// undelivered events.
void fanout_rate(fanout_load *load, double events_per_second, int window);
void fanout_hold(fanout_load *load);  // no more events
// From now on, latencies of new events are noted, from the intended time (or that of sending) to the arrival.
void fanout_begin_counting(fanout_load *load);
// Runs until `end`, or, with `until_current`, until all subscribers have all events, if that is sooner. 0 or an errno.
int fanout_run(fanout_load *load, int64_t end, int until_current);

fanout_counts fanout_counted(const fanout_load *load);
// FANOUT_BUCKETS counts of a group; the value of a bucket is fanout_bucket_value.
const uint64_t *fanout_latencies(const fanout_load *load, int group);
uint64_t fanout_bucket_value(int bucket);

int64_t fanout_now(void);
int fanout_cpu_count(void);
// Binds this thread to one processor. 0 or an errno.
int fanout_pin(int processor);

// Serves until it is killed: `S key key ...` follows keys (each 7 digits), answered by `R` for each; `P key rest of
// line` sends `rest of line` to the followers of the key. At most one flush in `pace` milliseconds while busy, as
// Telltale does. Prints `ready port=N`. Returns an errno.
int fanout_relay(int pace);

// `count` misbehaving clients, with `rate` repetitions a second where they repeat. They follow everything and read very
// slowly or not at all; connect and break off; send lines without meaning; or connect and never send a whole line.
// Prints `ready N`; SIGTERM ends it.
enum {
    FANOUT_READS_SLOWLY,
    FANOUT_TRICKLES,
    FANOUT_NEVER_READS,
    FANOUT_CONNECTS,
    FANOUT_SENDS_NONSENSE,
    FANOUT_IS_SILENT,
    // One connection that asks for as much as it may.
    FANOUT_OWES,
    FANOUT_SUBSCRIBES,
    FANOUT_FLIPS,
    FANOUT_ASKS,
    // Begin a TLS handshake, and say no more.
    FANOUT_IS_HALF_OPEN,
    // Begin one, and another when they are answered; send most of a large first record, and break off; say `text`, and come
    // again when they were shown out.
    FANOUT_STORMS,
    FANOUT_BREAKS_OFF,
    FANOUT_TRIES,
    // Say `text` without a pause.
    FANOUT_PIPELINES,
};
int fanout_crowd(uint16_t port, int kind, int count, double rate, const char *text);

#endif
