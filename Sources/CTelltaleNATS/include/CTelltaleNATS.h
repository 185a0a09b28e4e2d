#ifndef CTELLTALENATS_H
#define CTELLTALENATS_H

#include <stddef.h>
#include <stdint.h>

/// libnats, opened at run time: a process that needs none loads none, and the build needs no header of it.
///
/// Opens the library, once in a process. `path` is a file, or NULL for the releases that are known, as the system finds them.
/// Returns 1, or 0 with the reason in `error`.
int telltale_nats_load(const char *path, char *error, size_t size);
/// Whether a library is loaded, and its release; NULL where it is not.
const char *telltale_nats_version(void);

/// A connection and its subscriptions.
typedef struct telltale_nats telltale_nats;

/// A message that came. The pointers are valid until the call returns, on a thread of the library. `status` is that of a message
/// without content, such as 404; 0 for none. `sequence` and `pending` are those of a message read from a stream; -1 for none.
typedef void (*telltale_nats_message)(uint64_t context, const char *subject, int status, int64_t sequence, int64_t pending,
                                      const uint8_t *data, size_t count);
/// The connection ended (0) or is there again (1), on a thread of the library.
typedef void (*telltale_nats_change)(uint64_t context, int is_up);
/// The server does not let this connection publish or subscribe, in its own words: `Permissions Violation for Publish to "a.b"`. On a
/// thread of the library. The pointer is valid until the call returns.
typedef void (*telltale_nats_denial)(uint64_t context, const char *text);

typedef struct {
    /// Given to all calls.
    uint64_t context;
    telltale_nats_message message;
    telltale_nats_change change;
    telltale_nats_denial denial;
    const char *const *servers;
    int server_count;
    /// A file of credentials; NULL for none.
    const char *credentials;
    /// As the servers list it.
    const char *name;
    int64_t connect_milliseconds;
    int64_t ping_milliseconds;
} telltale_nats_options;

/// Connects, and waits for it. NULL where that fails: the reason is in `error`, and `is_refusal` is 1 where the server refuses the
/// credentials.
telltale_nats *telltale_nats_connect(const telltale_nats_options *options, int *is_refusal, char *error, size_t size);
/// Ends the connection; calls that are under way end by themselves.
void telltale_nats_close(telltale_nats *nats);
/// Whether it is connected at this moment.
int telltale_nats_is_up(telltale_nats *nats);
/// Whether the library has given it up: a server has refused its credentials twice.
int telltale_nats_is_closed(telltale_nats *nats);
/// The longest message that the server takes, its headers included: `max_payload`, as the server told it last.
int64_t telltale_nats_longest(telltale_nats *nats);
/// Writes the URL of the server without what stands before an @; empty where there is none.
void telltale_nats_server(telltale_nats *nats, char *text, size_t size);

/// Follows a subject, with wildcards. Returns 1, or 0 where it cannot.
int telltale_nats_subscribe(telltale_nats *nats, const char *subject);
typedef enum { telltale_nats_not_sent = 0, telltale_nats_sent = 1, telltale_nats_too_long = 2 } telltale_nats_outcome;

/// Publishes, and waits until the system has taken the bytes, at most for the connection's write deadline of two seconds. `reply`,
/// `key` and `value` may be NULL. `telltale_nats_too_long`: the message is longer than the server takes, and nothing left.
/// `telltale_nats_not_sent`: it is not connected, or does not take it.
telltale_nats_outcome telltale_nats_publish(telltale_nats *nats, const char *subject, const char *reply, const char *key,
                                            const char *value, const uint8_t *data, size_t count);
/// Asks and waits. `key` and `value` may be NULL. Returns the answer's bytes, which the caller frees with `free`, and their number in
/// `answer_count`; NULL for none in time.
uint8_t *telltale_nats_request(telltale_nats *nats, const char *subject, const char *key, const char *value,
                               const uint8_t *data, size_t count, int64_t milliseconds, size_t *answer_count);

#endif
