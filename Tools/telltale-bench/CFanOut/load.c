// A fan-out load: one publisher and thousands of subscribers in one thread. See CFanOut.h.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

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
    // Sleeps end at the intended time to the microsecond; the kernel's default slack is larger.
    prctl(PR_SET_TIMERSLACK, 1);
    return load;
}

void fanout_free(fanout_load *load) {
    for (int i = 0; i <= load->subscribers; i++) {
        load_close_peer(load, &load->peers[i]);
        free(load->peers[i].newest);
        SSL_SESSION_free(load->peers[i].session);
        free(load->peers[i].opening);
        free(load->peers[i].transcript);
    }
    close(load->epoll);
    SSL_CTX_free(load->tls);
    free(load->peers);
    free(load->needle);
    free(load->message);
    free(load->output);
    free(load->input);
    free(load->sent_at);
    free(load);
}

void fanout_opening(fanout_load *load, int subscriber, const uint8_t *bytes, size_t count) {
    load_set_opening(&load->peers[subscriber], bytes, count);
}

void fanout_readiness(fanout_load *load, const uint8_t *needle, size_t count, int times, int to_line_end) {
    load->needs_line_end = to_line_end;
    load->needle = realloc(load->needle, count);
    memcpy(load->needle, needle, count);
    load->needle_count = count;
    load->needle_times = times;
}

void fanout_place(fanout_load *load, int subscriber, uint16_t port, int group) {
    load->peers[subscriber].port = htons(port);
    load->peers[subscriber].group = group;
}

void fanout_keep_transcripts(fanout_load *load) {
    load->keeps_transcripts = true;
}

const uint8_t *fanout_transcript(const fanout_load *load, int subscriber, size_t *count) {
    *count = load->peers[subscriber].transcript_count;
    return load->peers[subscriber].transcript;
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
        int64_t next = load_publish(load, now);
        int error = load_pass(load, (next < end ? next : end) - now);
        if (error) return error;
    }
}

fanout_counts fanout_counted(const fanout_load *load) { return load->counts; }
const uint64_t *fanout_latencies(const fanout_load *load, int group) { return load->latencies[group]; }
