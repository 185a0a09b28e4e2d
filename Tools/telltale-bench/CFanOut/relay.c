// A plain fan-out on epoll and writev: the work that no server can avoid. See CFanOut.h.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "CFanOut.h"

enum { READ_BYTES = 1 << 18, EVENTS_PER_PASS = 1024, BURST = 4, ENOUGH = 32 };

typedef struct {
    size_t start, count;
} slice;

typedef struct {
    int fd;
    bool is_dirty;
    // The beginning of a line whose end has not come.
    char *rest;
    size_t rest_count, rest_capacity;
    // The slices of the arena that are due.
    slice *slices;
    int slice_count, slice_capacity;
    // Bytes that the socket did not take.
    char *backlog;
    size_t backlog_count, backlog_sent;
} client;

typedef struct {
    client **followers;
    int count, capacity;
} key_entry;

static int poller, listener;
static key_entry *keys;
static int key_capacity;
static char *arena;
static size_t arena_count, arena_capacity;
static client **dirty;
static int dirty_count, dirty_capacity;
// Lines that wait for a flush.
static int waiting_count;

static void *grow(void *memory, int *capacity, int needed, size_t size) {
    if (needed <= *capacity) return memory;
    int old = *capacity;
    while (*capacity < needed) *capacity = *capacity ? 2 * *capacity : 4;
    memory = realloc(memory, size * *capacity);
    memset((char *)memory + size * old, 0, size * (*capacity - old));
    return memory;
}

static key_entry *entry(int key) {
    keys = grow(keys, &key_capacity, key + 1, sizeof *keys);
    return &keys[key];
}

static void watch(client *client, bool writable, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = client};
    epoll_ctl(poller, operation, client->fd, &event);
}

static void accept_all(void) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        client *client = calloc(1, sizeof *client);
        client->fd = fd;
        watch(client, false, EPOLL_CTL_ADD);
    }
}

static void leave(client *client) {
    close(client->fd);
    for (int i = 0; i < key_capacity; i++) {
        for (int j = 0; j < keys[i].count; j++) {
            if (keys[i].followers[j] == client) keys[i].followers[j--] = keys[i].followers[--keys[i].count];
        }
    }
    for (int i = 0; i < dirty_count; i++) {
        if (dirty[i] == client) dirty[i--] = dirty[--dirty_count];
    }
    free(client->rest);
    free(client->slices);
    free(client->backlog);
    free(client);
}

static int number(const char *digits) {
    int value = 0;
    for (int i = 0; i < FANOUT_KEY_DIGITS; i++) value = value * 10 + (digits[i] - '0');
    return value < 0 || value > 10000000 ? 0 : value;
}

static void publish(int key, const char *text, size_t count) {
    key_entry *entry_ = entry(key);
    if (arena_count + count > arena_capacity) {
        arena_capacity = 2 * (arena_count + count);
        arena = realloc(arena, arena_capacity);
    }
    slice piece = {arena_count, count};
    memcpy(arena + arena_count, text, count);
    arena_count += count;
    waiting_count++;
    for (int i = 0; i < entry_->count; i++) {
        client *client = entry_->followers[i];
        if (!client->is_dirty) {
            client->is_dirty = true;
            dirty = grow(dirty, &dirty_capacity, dirty_count + 1, sizeof *dirty);
            dirty[dirty_count++] = client;
        }
        slice *last = client->slice_count ? &client->slices[client->slice_count - 1] : NULL;
        if (last && last->start + last->count == piece.start) {
            last->count += count;
            continue;
        }
        client->slices = grow(client->slices, &client->slice_capacity, client->slice_count + 1, sizeof(slice));
        client->slices[client->slice_count++] = piece;
    }
}

static void take_line(client *client, const char *line, size_t count) {
    size_t word = 2 + FANOUT_KEY_DIGITS;
    if (line[0] == 'P' && count > word) {
        publish(number(line + 2), line + word + 1, count - word - 1);
    } else if (line[0] == 'S') {
        for (size_t at = 2; at + FANOUT_KEY_DIGITS <= count; at += FANOUT_KEY_DIGITS + 1) {
            key_entry *followed = entry(number(line + at));
            followed->followers =
                grow(followed->followers, &followed->capacity, followed->count + 1, sizeof(void *));
            followed->followers[followed->count++] = client;
            (void)!write(client->fd, "R\n", 2);
        }
    } else {
        (void)!write(client->fd, "R\n", 2);
    }
}

static bool receive(client *client) {
    static char input[READ_BYTES];
    ssize_t got = recv(client->fd, input, READ_BYTES, 0);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    char *at = input, *end = input + got;
    while (at < end) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t count = (size_t)((newline ? newline + 1 : end) - at);
        if (client->rest_count || !newline) {
            if (client->rest_count + count > client->rest_capacity) {
                client->rest_capacity = 2 * (client->rest_count + count);
                client->rest = realloc(client->rest, client->rest_capacity);
            }
            memcpy(client->rest + client->rest_count, at, count);
            client->rest_count += count;
            if (newline) {
                take_line(client, client->rest, client->rest_count);
                client->rest_count = 0;
            }
        } else {
            take_line(client, at, count);
        }
        at += count;
    }
    return true;
}

static void keep(client *client, const char *bytes, size_t count) {
    client->backlog = realloc(client->backlog, client->backlog_count + count);
    memcpy(client->backlog + client->backlog_count, bytes, count);
    client->backlog_count += count;
}

static void go_on(client *client) {
    while (client->backlog_sent < client->backlog_count) {
        ssize_t sent = send(
            client->fd, client->backlog + client->backlog_sent, client->backlog_count - client->backlog_sent,
            MSG_NOSIGNAL);
        if (sent < 0) return;
        client->backlog_sent += (size_t)sent;
    }
    free(client->backlog);
    client->backlog = NULL;
    client->backlog_count = client->backlog_sent = 0;
    watch(client, false, EPOLL_CTL_MOD);
}

static void flush_one(client *client) {
    client->is_dirty = false;
    int first = 0;
    while (client->backlog_count == 0 && first < client->slice_count) {
        struct iovec vectors[IOV_MAX];
        int count = client->slice_count - first < IOV_MAX ? client->slice_count - first : IOV_MAX;
        size_t total = 0;
        for (int i = 0; i < count; i++) {
            slice piece = client->slices[first + i];
            vectors[i] = (struct iovec){arena + piece.start, piece.count};
            total += piece.count;
        }
        ssize_t sent = writev(client->fd, vectors, count);
        size_t left = sent < 0 ? 0 : (size_t)sent;
        for (int i = 0; left < total && i < count; i++) {
            size_t done = left < vectors[i].iov_len ? left : vectors[i].iov_len;
            left -= done;
            total -= done;
            if (done < vectors[i].iov_len) keep(client, (char *)vectors[i].iov_base + done, vectors[i].iov_len - done);
        }
        first += count;
        if (client->backlog_count) watch(client, true, EPOLL_CTL_MOD);
    }
    for (; first < client->slice_count; first++)
        keep(client, arena + client->slices[first].start, client->slices[first].count);
    client->slice_count = 0;
}

static void flush_all(void) {
    for (int i = 0; i < dirty_count; i++) flush_one(dirty[i]);
    dirty_count = 0;
    arena_count = 0;
    waiting_count = 0;
}

int fanout_relay(int pace) {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 4096) < 0) return errno;
    getsockname(listener, (struct sockaddr *)&address, &length);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    printf("ready port=%d\n", ntohs(address.sin_port));
    fflush(stdout);

    // As FlushPace of Telltale's hub has it.
    int64_t next_flush = 0;
    int64_t interval = pace * 1000000LL;
    while (true) {
        struct epoll_event events[EVENTS_PER_PASS];
        int64_t wait = dirty_count ? next_flush - fanout_now() : 1000000000LL;
        if (wait < 0) wait = 0;
        struct timespec limit = {wait / 1000000000LL, wait % 1000000000LL};
        int count = epoll_pwait2(poller, events, EVENTS_PER_PASS, &limit, NULL);
        for (int i = 0; i < count; i++) {
            client *client = events[i].data.ptr;
            if (!client) {
                accept_all();
            } else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !receive(client)) {
                leave(client);
            } else if (events[i].events & EPOLLOUT) {
                go_on(client);
            }
        }
        if (!dirty_count) continue;
        int64_t now = fanout_now();
        if (now < next_flush && waiting_count < ENOUGH) continue;
        int64_t saved = now - (BURST - 1) * interval;
        if (saved < next_flush) saved = next_flush;
        flush_all();
        int64_t end = fanout_now();
        saved += end - now;
        next_flush = (saved < end ? saved : end) + interval;
    }
}
