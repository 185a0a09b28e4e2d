// The publisher: events at a rate, or as fast as the window allows.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "load.h"

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

void load_flush_output(fanout_load *load) {
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
    if (wants != load->wants_writable) load_watch(load, load->subscribers, wants, EPOLL_CTL_MOD);
    load->wants_writable = wants;
}

int64_t load_publish(fanout_load *load, int64_t now) {
    while (load->is_publishing && load->output_count == 0) {
        uint64_t due;
        if (load->rate > 0) {
            uint64_t all = (uint64_t)((double)(now - load->started) * load->rate / 1e9) + 1;
            due = all - (load->next - load->first);
            if ((int64_t)due <= 0) return load_intended(load, load->next);
        } else {
            uint64_t on_their_way = (load->next - load->first) * load->fan - load->settled;
            uint64_t events = (on_their_way + load->fan - 1) / load->fan;
            if (events >= load->window) {
                // A server that drops events would stop the run. The silence is longer than any server's pace.
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
        load_flush_output(load);
    }
    return now + 1000000000;
}

// Gives up every event that has not come by now.
static void settle(fanout_load *load) {
    for (int i = 0; i < load->subscribers; i++) {
        for (int j = 0; j < load->per; j++) {
            int64_t key = ((int64_t)i * load->per + j) % load->keys;
            // The newest event of this key.
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
            load_flush_output(load);
        }
        int error = load_pass(load, 10000000);
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
