#define _GNU_SOURCE
#include "CTelltaleNATS.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The functions of libnats 3 that are used, by its public interface. Types of the library are pointers without content here.
typedef void options, connection, subscription, message;
typedef int status;
typedef void (*on_message)(connection *, subscription *, message *, void *);
typedef void (*on_change)(connection *, void *);

enum { ok = 0, refused_credentials = 11, not_permitted = 12, too_long = 21, state_connected = 2, state_closed = 3 };

#define FUNCTIONS(f)                                                                                                   \
    f(const char *, nats_GetVersion, (void))                                                                           \
    f(const char *, natsStatus_GetText, (status))                                                                      \
    f(status, natsOptions_Create, (options **))                                                                        \
    f(void, natsOptions_Destroy, (options *))                                                                          \
    f(status, natsOptions_SetServers, (options *, const char **, int))                                                 \
    f(status, natsOptions_SetName, (options *, const char *))                                                          \
    f(status, natsOptions_SetTimeout, (options *, int64_t))                                                            \
    f(status, natsOptions_SetPingInterval, (options *, int64_t))                                                       \
    f(status, natsOptions_SetMaxPingsOut, (options *, int))                                                            \
    f(status, natsOptions_SetMaxReconnect, (options *, int))                                                           \
    f(status, natsOptions_SetReconnectWait, (options *, int64_t))                                                      \
    f(status, natsOptions_SetIgnoreDiscoveredServers, (options *, bool))                                               \
    f(status, natsOptions_SetSendAsap, (options *, bool))                                                              \
    f(status, natsOptions_SetNoEcho, (options *, bool))                                                                \
    f(status, natsOptions_SetFailRequestsOnDisconnect, (options *, bool))                                              \
    f(status, natsOptions_SetWriteDeadline, (options *, int64_t))                                                      \
    f(status, natsOptions_SetUserCredentialsFromFiles, (options *, const char *, const char *))                        \
    f(status, natsOptions_SetErrorHandler, (options *, void (*)(connection *, subscription *, status, void *), void *)) \
    f(status, natsOptions_SetDisconnectedCB, (options *, on_change, void *))                                           \
    f(status, natsOptions_SetReconnectedCB, (options *, on_change, void *))                                            \
    f(status, natsConnection_Connect, (connection **, options *))                                                      \
    f(int, natsConnection_Status, (connection *))                                                                      \
    f(status, natsConnection_GetConnectedUrl, (connection *, char *, size_t))                                          \
    f(int64_t, natsConnection_GetMaxPayload, (connection *))                                                           \
    f(status, natsConnection_GetLastError, (connection *, const char **))                                              \
    f(void, natsConnection_Close, (connection *))                                                                      \
    f(void, natsConnection_Destroy, (connection *))                                                                    \
    f(status, natsConnection_PublishMsg, (connection *, message *))                                                    \
    f(status, natsConnection_RequestMsg, (message **, connection *, message *, int64_t))                               \
    f(status, natsConnection_Subscribe, (subscription **, connection *, const char *, on_message, void *))             \
    f(void, natsSubscription_Destroy, (subscription *))                                                                \
    f(status, natsMsg_Create, (message **, const char *, const char *, const char *, int))                             \
    f(const char *, natsMsg_GetSubject, (const message *))                                                             \
    f(const char *, natsMsg_GetData, (const message *))                                                                \
    f(int, natsMsg_GetDataLength, (const message *))                                                                   \
    f(status, natsMsgHeader_Set, (message *, const char *, const char *))                                              \
    f(status, natsMsgHeader_Values, (message *, const char *, const char ***, int *))                                  \
    f(void, natsMsg_Destroy, (message *))

#define FIELD(result, name, parameters) result(*name) parameters;
static struct { FUNCTIONS(FIELD) } lib;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static void *library;

/// The routes of a connection's callbacks. They live as long as the process: a thread of the library may be in a callback
/// when the connection is closed already, and it says of none when it has left the last one.
typedef struct {
    uint64_t context;
    telltale_nats_message message;
    telltale_nats_change change;
    telltale_nats_denial denial;
} routes;

enum { subscription_limit = 8 };

struct telltale_nats {
    connection *connection;
    routes *routes;
    subscription *subscriptions[subscription_limit];
    int count;
};

static const char *const releases[] = {
    "libnats.so.3.12", "libnats.so.3.11", "libnats.so.3.10", "libnats.so.3.9", "libnats.so.3.8", "libnats.so.3.7",
    "libnats.so.3.6",  "libnats.so.3.5",  "libnats.so.3.4",  "libnats.so",
};

static int find_functions(void *handle, char *error, size_t size) {
#define FIND(result, name, parameters)                                                                                 \
    if (!(*(void **)&lib.name = dlsym(handle, #name))) {                                                               \
        snprintf(error, size, "it has no %s", #name);                                                                  \
        return 0;                                                                                                      \
    }
    FUNCTIONS(FIND)
    return 1;
}

int telltale_nats_load(const char *path, char *error, size_t size) {
    pthread_mutex_lock(&loading);
    if (!library) {
        void *handle = NULL;
        if (path) {
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        } else {
            for (size_t i = 0; !handle && i < sizeof releases / sizeof *releases; i++)
                handle = dlopen(releases[i], RTLD_NOW | RTLD_LOCAL);
        }
        if (!handle) {
            const char *reason = dlerror();
            snprintf(error, size, "%s", path && reason ? reason : "none of its releases 3.4 to 3.12 is installed");
        } else if (find_functions(handle, error, size)) {
            library = handle;
        } else {
            dlclose(handle);
        }
    }
    int is_loaded = library != NULL;
    pthread_mutex_unlock(&loading);
    return is_loaded;
}

const char *telltale_nats_version(void) { return library ? lib.nats_GetVersion() : NULL; }

/// A whole number that the server wrote into a header; -1 for none and for anything else. The server adds its headers behind those
/// of the message's writer, who may have used the same names: the last one counts.
static int64_t number(message *from, const char *key) {
    const char **values = NULL;
    int count = 0;
    if (lib.natsMsgHeader_Values(from, key, &values, &count) != ok) return -1;
    const char *text = count > 0 ? values[count - 1] : NULL;
    int64_t value = text && *text && strlen(text) <= 18 ? 0 : -1;
    for (; value >= 0 && *text; text++) value = *text < '0' || *text > '9' ? -1 : value * 10 + (*text - '0');
    free(values);
    return value;
}

static void received(connection *connection, subscription *subscription, message *message, void *closure) {
    (void)connection;
    (void)subscription;
    routes *to = closure;
    int length = lib.natsMsg_GetDataLength(message);
    int64_t sequence = number(message, "Nats-Sequence");
    // A message out of a stream has no status: what is called so there is its writer's.
    int64_t status = sequence < 0 ? number(message, "Status") : 0;
    to->message(to->context, lib.natsMsg_GetSubject(message), status < 0 || status > 999 ? 0 : (int)status,
                sequence, number(message, "Nats-Num-Pending"),
                (const uint8_t *)lib.natsMsg_GetData(message), length > 0 ? (size_t)length : 0);
    lib.natsMsg_Destroy(message);
}

static void disconnected(connection *connection, void *closure) {
    (void)connection;
    routes *to = closure;
    to->change(to->context, 0);
}

static void reconnected(connection *connection, void *closure) {
    (void)connection;
    routes *to = closure;
    to->change(to->context, 1);
}

/// Everything but a denial shows in what does not come. The library's own handler prints to standard error.
static void failed(connection *connection, subscription *subscription, status status, void *closure) {
    (void)subscription;
    routes *to = closure;
    const char *text = NULL;
    if (status != not_permitted || lib.natsConnection_GetLastError(connection, &text) != not_permitted || !text) return;
    // The library may write another text in its place.
    char copy[256];
    snprintf(copy, sizeof copy, "%s", text);
    to->denial(to->context, copy);
}

telltale_nats *telltale_nats_connect(const telltale_nats_options *given, int *is_refusal, char *error, size_t size) {
    *is_refusal = 0;
    telltale_nats *nats = calloc(1, sizeof *nats);
    routes *to = calloc(1, sizeof *to);
    options *options = NULL;
    if (!nats || !to || lib.natsOptions_Create(&options) != ok) {
        free(nats);
        free(to);
        snprintf(error, size, "no memory");
        return NULL;
    }
    *to = (routes){given->context, given->message, given->change, given->denial};
    nats->routes = to;

    status status = lib.natsOptions_SetServers(options, (const char **)given->servers, given->server_count);
#define SET(call) status = status == ok ? lib.call : status
    SET(natsOptions_SetName(options, given->name));
    SET(natsOptions_SetTimeout(options, given->connect_milliseconds));
    SET(natsOptions_SetPingInterval(options, given->ping_milliseconds));
    SET(natsOptions_SetMaxPingsOut(options, 2));
    SET(natsOptions_SetMaxReconnect(options, -1));
    SET(natsOptions_SetReconnectWait(options, 100));
    SET(natsOptions_SetIgnoreDiscoveredServers(options, true));
    // The thread that publishes writes to the socket: another thread's wakeup would be half of a round trip.
    SET(natsOptions_SetSendAsap(options, true));
    SET(natsOptions_SetNoEcho(options, true));
    SET(natsOptions_SetFailRequestsOnDisconnect(options, true));
    SET(natsOptions_SetWriteDeadline(options, 2000));
    SET(natsOptions_SetErrorHandler(options, failed, to));
    SET(natsOptions_SetDisconnectedCB(options, disconnected, to));
    SET(natsOptions_SetReconnectedCB(options, reconnected, to));
    if (given->credentials) SET(natsOptions_SetUserCredentialsFromFiles(options, given->credentials, NULL));
    SET(natsConnection_Connect(&nats->connection, options));
    lib.natsOptions_Destroy(options);
    if (status == ok) return nats;
    *is_refusal = status == refused_credentials;
    // The text of the status alone: the library's last error may quote what it was given.
    snprintf(error, size, "%s", lib.natsStatus_GetText(status));
    free(nats);
    return NULL;
}

void telltale_nats_close(telltale_nats *nats) {
    lib.natsConnection_Close(nats->connection);
    for (int i = 0; i < nats->count; i++) lib.natsSubscription_Destroy(nats->subscriptions[i]);
    lib.natsConnection_Destroy(nats->connection);
    free(nats);
}

int telltale_nats_is_up(telltale_nats *nats) { return lib.natsConnection_Status(nats->connection) == state_connected; }

int telltale_nats_is_closed(telltale_nats *nats) { return lib.natsConnection_Status(nats->connection) == state_closed; }

int64_t telltale_nats_longest(telltale_nats *nats) { return lib.natsConnection_GetMaxPayload(nats->connection); }

void telltale_nats_server(telltale_nats *nats, char *text, size_t size) {
    char url[512] = "";
    if (size) text[0] = 0;
    if (lib.natsConnection_GetConnectedUrl(nats->connection, url, sizeof url) != ok) return;
    // A password may stand before the @.
    const char *at = strrchr(url, '@');
    const char *scheme = strstr(url, "://");
    snprintf(text, size, "%s", at ? at + 1 : scheme ? scheme + 3 : url);
}

int telltale_nats_subscribe(telltale_nats *nats, const char *subject) {
    if (nats->count == subscription_limit) return 0;
    status status = lib.natsConnection_Subscribe(&nats->subscriptions[nats->count], nats->connection, subject, received,
                                                 nats->routes);
    if (status == ok) nats->count++;
    return status == ok;
}

/// A message with a header, or without one; NULL where there is no memory.
static message *created(const char *subject, const char *reply, const char *key, const char *value, const uint8_t *data,
                        size_t count) {
    message *message = NULL;
    if (count > INT32_MAX || lib.natsMsg_Create(&message, subject, reply, (const char *)data, (int)count) != ok) return NULL;
    if (!key || !value || lib.natsMsgHeader_Set(message, key, value) == ok) return message;
    lib.natsMsg_Destroy(message);
    return NULL;
}

telltale_nats_outcome telltale_nats_publish(telltale_nats *nats, const char *subject, const char *reply, const char *key,
                                            const char *value, const uint8_t *data, size_t count) {
    // A message that is published without a connection would wait in the library, and leave when its writer has given it up.
    if (!telltale_nats_is_up(nats)) return telltale_nats_not_sent;
    message *message = created(subject, reply, key, value, data, count);
    if (!message) return telltale_nats_not_sent;
    status status = lib.natsConnection_PublishMsg(nats->connection, message);
    lib.natsMsg_Destroy(message);
    return status == ok ? telltale_nats_sent : status == too_long ? telltale_nats_too_long : telltale_nats_not_sent;
}

uint8_t *telltale_nats_request(telltale_nats *nats, const char *subject, const char *key, const char *value,
                               const uint8_t *data, size_t count, int64_t milliseconds, size_t *answer_count) {
    message *question = created(subject, NULL, key, value, data, count), *answer = NULL;
    if (!question) return NULL;
    status status = lib.natsConnection_RequestMsg(&answer, nats->connection, question, milliseconds);
    lib.natsMsg_Destroy(question);
    if (status != ok) return NULL;
    int length = lib.natsMsg_GetDataLength(answer);
    uint8_t *bytes = length < 0 ? NULL : malloc((size_t)length + 1);
    if (bytes) {
        memcpy(bytes, lib.natsMsg_GetData(answer), (size_t)length);
        *answer_count = (size_t)length;
    }
    lib.natsMsg_Destroy(answer);
    return bytes;
}
