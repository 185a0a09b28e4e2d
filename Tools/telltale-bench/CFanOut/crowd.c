// Misbehaving clients. See CFanOut.h.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "CFanOut.h"

static volatile sig_atomic_t is_over;

static void end(int signal) {
    (void)signal;
    is_over = 1;
}

static int make_connection(struct sockaddr_in *address, int receive_buffer) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (receive_buffer) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    if (connect(fd, (struct sockaddr *)address, sizeof *address) < 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void reset(int fd) {
    struct linger linger = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}

static void say(int fd, const char *text) {
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// The first flight of a TLS handshake. Returns its length; 0 where there is none.
static int write_client_hello(char *bytes, int size) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = context ? SSL_new(context) : NULL;
    int length = 0;
    if (ssl) {
        BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
        SSL_set_bio(ssl, in, out);
        SSL_connect(ssl);
        length = BIO_read(out, bytes, size);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    return length > 0 ? length : 0;
}

// The line that one greedy connection sends again and again, and how much of it makes one send.
struct greed {
    char text[65536];
    unsigned subscriptions;
};

// Every second subscription is a watch of another person, for which activities compete.
static void follow_everything(char *line, size_t size, unsigned number) {
    if (number % 2) snprintf(line, size, "SUB * view=watch for=z%u\n", number);
    else snprintf(line, size, "SUB *\n");
}

static void write_greed(struct greed *greed, int kind) {
    size_t length = 0;
    for (int i = 0; i < 256; i++) {
        char line[96] = "STATS\n";
        if (kind == FANOUT_SUBSCRIBES) {
            follow_everything(line, sizeof line, ++greed->subscriptions);
            size_t end = strlen(line);
            snprintf(line + end, sizeof line - end, "UNSUB sub=%u\n", greed->subscriptions);
        }
        if (kind == FANOUT_FLIPS)
            strcpy(line, "TRAIT locked=yes\nTRAIT locked=no\n");
        length += (size_t)snprintf(greed->text + length, sizeof greed->text - length, "%s", line);
    }
}

// One connection that asks for as much as it may, and reads all of it but for FANOUT_OWES.
static void be_greedy(int fd, int kind) {
    static struct greed greed;
    static char input[1 << 20];
    char opening[256 * 32] = "";
    if (kind == FANOUT_OWES)
        for (unsigned i = 0; i < 256; i++) {
            size_t end = strlen(opening);
            follow_everything(opening + end, sizeof opening - end, i);
        }
    if (kind == FANOUT_FLIPS) for (int i = 0; i < 50; i++) strcat(opening, "SUB * view=watch\n");
    say(fd, opening);
    size_t sent = 0, length = 0;
    while (!is_over) {
        struct timespec tick = {0, 1000000};
        nanosleep(&tick, NULL);
        if (kind == FANOUT_OWES) continue;
        while (recv(fd, input, sizeof input, MSG_DONTWAIT) > 0) {}
        if (sent == length) {
            write_greed(&greed, kind);
            sent = 0;
            length = strlen(greed.text);
        }
        ssize_t count = send(fd, greed.text + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) sent += (size_t)count;
    }
}

typedef struct {
    const char *bytes;
    size_t length;
} words;

static void connect_again(int *fd, struct sockaddr_in *address, words what) {
    if (*fd >= 0) reset(*fd);
    *fd = make_connection(address, 0);
    if (*fd >= 0) (void)!send(*fd, what.bytes, what.length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Connections that say the same, each time anew: those that break off by the clock, those that storm whenever they are
// answered, and those that try whenever they were shown out.
static void come_again(int *fds, int count, int kind, double rate, struct sockaddr_in *address, words what) {
    static char input[65536];
    int64_t start = fanout_now();
    uint64_t done = 0;
    while (!is_over) {
        struct timespec tick = {0, 1000000};
        nanosleep(&tick, NULL);
        uint64_t due = (uint64_t)((double)(fanout_now() - start) * rate / 1e9);
        for (int i = 0; i < count && !is_over; i++) {
            if (kind == FANOUT_BREAKS_OFF) {
                if (done == due) break;
                connect_again(&fds[done++ % (unsigned)count], address, what);
                continue;
            }
            ssize_t got = fds[i] < 0 ? 0 : recv(fds[i], input, sizeof input, MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN) continue;
            if (kind == FANOUT_STORMS) {
                connect_again(&fds[i], address, what);
            } else if (got <= 0 && done < due) {
                done++;
                connect_again(&fds[i], address, what);
            }
        }
    }
}

// Connections that say the same without a pause, and read what they are answered.
static void go_on(const int *fds, int count, words what) {
    static char input[65536];
    size_t *sent = calloc((size_t)count, sizeof(size_t));
    while (!is_over) {
        struct timespec tick = {0, 1000000};
        nanosleep(&tick, NULL);
        for (int i = 0; i < count; i++) {
            if (fds[i] < 0) continue;
            while (recv(fds[i], input, sizeof input, MSG_DONTWAIT) > 0) {}
            ssize_t got = send(fds[i], what.bytes + sent[i], what.length - sent[i], MSG_NOSIGNAL | MSG_DONTWAIT);
            if (got > 0) sent[i] = (sent[i] + (size_t)got) % what.length;
        }
    }
    free(sent);
}

int fanout_crowd(uint16_t port, int kind, int count, double rate, const char *text) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    signal(SIGTERM, end);
    // A process inherits the signals that its parent blocked, and the threads of some runtimes block nearly all.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &signals, NULL);
    bool reads = kind == FANOUT_READS_SLOWLY || kind == FANOUT_TRICKLES;
    bool follows = reads || kind == FANOUT_NEVER_READS;
    int *fds = calloc(count, sizeof(int));
    static char hello[16380] = {22, 3, 1, 0x3F, 0xFB};
    int hello_length = 0;
    if (kind == FANOUT_IS_HALF_OPEN || kind == FANOUT_STORMS) hello_length = write_client_hello(hello, sizeof hello);
    // Of a first record that has a byte more, and never comes whole.
    if (kind == FANOUT_BREAKS_OFF) hello_length = sizeof hello;
    int open_count = 0;
    for (int i = 0; i < count; i++) {
        fds[i] = kind == FANOUT_CONNECTS ? -1 : make_connection(&address, follows || kind == FANOUT_OWES ? 4096 : 0);
        if (fds[i] < 0) continue;
        open_count++;
        if (follows) say(fds[i], "SUB *\n");
        if (hello_length) (void)!send(fds[i], hello, (size_t)hello_length, MSG_NOSIGNAL | MSG_DONTWAIT);
        // Some stop in the middle of a line.
        if (kind == FANOUT_IS_SILENT && i % 2) say(fds[i], "SUB tal");
    }
    printf("ready %d\n", open_count);
    fflush(stdout);
    // From here on it only gets processor time that the measuring process leaves.
    setpriority(PRIO_PROCESS, 0, 19);

    if (kind >= FANOUT_OWES && kind <= FANOUT_ASKS && fds[0] >= 0) be_greedy(fds[0], kind);
    words what = {hello_length ? hello : text, hello_length ? (size_t)hello_length : strlen(text)};
    if (kind == FANOUT_PIPELINES) go_on(fds, count, what);
    if (kind == FANOUT_TRIES) {
        // All at one moment, when the measurement is under way.
        struct timespec pause = {0, 700000000};
        nanosleep(&pause, NULL);
        for (int i = 0; i < count; i++) if (fds[i] >= 0) say(fds[i], text);
    }
    if (kind >= FANOUT_STORMS && kind <= FANOUT_TRIES) come_again(fds, count, kind, rate, &address, what);

    static char lines[64 * 9 + 1];
    for (int i = 0; i < 64; i++) strcat(lines, "LEVITATE\n");
    int64_t start = fanout_now(), next_byte = start;
    uint64_t done = 0;
    while (!is_over) {
        struct timespec tick = {0, 5000000};
        nanosleep(&tick, NULL);
        int64_t now = fanout_now();
        uint64_t due = (uint64_t)((double)(now - start) * rate / 1e9);
        if (kind == FANOUT_CONNECTS) {
            for (; done < due && !is_over; done++) {
                int fd = make_connection(&address, 0);
                if (fd < 0) continue;
                if (done % 2) say(fd, "SUB *\nEVT tally/0 ty");
                reset(fd);
            }
        } else if (kind == FANOUT_SENDS_NONSENSE) {
            static char input[65536];
            for (int i = 0; i < count; i++)
                while (fds[i] >= 0 && recv(fds[i], input, sizeof input, MSG_DONTWAIT) > 0) {}
            for (; done < due; done += 64) {
                int fd = fds[done / 64 % count];
                if (fd >= 0 && send(fd, lines, 64 * 9, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
            }
        } else if (reads && now >= next_byte) {
            next_byte += kind == FANOUT_TRICKLES ? 20000000000LL : 1000000000LL;
            for (int i = 0; i < count; i++) {
                char byte;
                if (fds[i] < 0) continue;
                ssize_t got = recv(fds[i], &byte, 1, MSG_DONTWAIT);
                if (got > 0 || (got < 0 && errno == EAGAIN)) continue;
                close(fds[i]);
                fds[i] = -1;
            }
        }
    }
    for (int i = 0; i < count; i++)
        if (fds[i] >= 0) reset(fds[i]);
    return 0;
}
