// All that a page follows in one situation, by one stream.

import { TelltaleError } from "./gateway.js";
import { Follow, Subscription, plan } from "./follow.js";
import { datesOf } from "./servertime.js";
import { Stream } from "./stream.js";
import { Tabs } from "./tabs.js";

export class Channel {
    #follows = new Set();
    #subscriptions = new Map();
    #isDue = false;
    #timer = 0;
    #next = Infinity;

    /** @param {{clock, name: string|null, ended: function}} options With a `name` the tabs of a browser share the stream. */
    constructor(gateway, query, { clock, name, ended }) {
        Object.assign(this, { clock, ended });
        const open = () => new Stream(gateway, query, this);
        /** Is woken, hidden and cut as the page is. */
        this.source = name ? new Tabs(name, this, open) : open();
    }

    /** @param {{cursor?: string, call?: function, draw?: function}} options */
    follow(id, options) {
        const follow = new Follow(id, { ...options, close: one => this.#leave(one) });
        this.#follows.add(follow);
        if (!this.#plan()) {
            this.#follows.delete(follow);
            throw new TelltaleError("limit_subs", "Too many kinds and views", { isFinal: true });
        }
        this.#renew();
        return follow;
    }

    #leave(follow) {
        if (!this.#follows.delete(follow)) return;
        if (this.#follows.size) return this.#renew();
        this.#stop();
    }

    #stop() {
        clearTimeout(this.#timer);
        this.source.hide();
        this.source.leave?.();
        this.ended();
    }

    close() { for (const follow of [...this.#follows]) follow.close(); }

    #plan() { return plan([...new Set([...this.#follows].filter(({ from }) => !from).map(({ id }) => id))]); }

    /** Once for all that begins or ends in one turn of the page. */
    #renew() {
        if (this.#isDue) return;
        this.#isDue = true;
        queueMicrotask(() => {
            this.#isDue = false;
            if (!this.#follows.size) return;
            const plan = this.#plan();
            const before = this.#subscriptions;
            this.#subscriptions = new Map();
            for (const follow of this.#follows) {
                // One that resumes from a cursor of its own has no whole picture to share.
                const id = follow.from ? follow.id : plan.get(follow.id);
                const name = `${id} ${follow.from ?? ""}`;
                const subscription = this.#subscriptions.get(name) ?? before.get(name) ?? new Subscription(id, name, follow.from);
                this.#subscriptions.set(name, subscription);
                if (follow.subscription !== subscription) follow.join(subscription);
            }
            if ([...this.#subscriptions.keys()].join() === [...before.keys()].join()) return;
            this.source.update([...this.#subscriptions.values()]);
        });
    }

    /** Tells the rows of a key again: they are drawn otherwise. */
    again(key, why) { for (const follow of this.#follows) follow.again(key, why); }

    // What the stream brings.

    heard(now) {
        this.clock.heard(now);
        // The date may be nearer than it was.
        if (this.#next < Infinity) this.#arm(this.#next);
    }

    take(subscription, change, cursor) {
        subscription.take(change);
        if (cursor !== undefined) subscription.cursor = cursor;
        this.#tell(change, subscription);
        if (change.type === "row") this.#await(change.row);
    }

    lost() {
        for (const subscription of this.#subscriptions.values()) subscription.isLive = false;
        this.#tell({ type: "lost" });
    }

    end(error) {
        this.#tell({ type: "end", error });
        this.#follows.clear();
        this.#stop();
    }

    #tell(change, subscription) {
        for (const follow of [...this.#follows]) if (!subscription || follow.subscription === subscription) follow.tell(change);
    }

    // Widgets, whose pictures change at dates.

    #await(row) {
        const now = this.clock.now();
        for (const date of datesOf(row)) if (date > now && date < this.#next) this.#arm(date);
    }

    #arm(date) {
        this.#next = date;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
            if (this.clock.now() < date) return this.#arm(date);
            this.#next = Infinity;
            const keys = new Set();
            for (const { rows } of this.#subscriptions.values()) {
                for (const { key, row } of rows.values()) {
                    if (datesOf(row).includes(date)) keys.add(key);
                    this.#await(row);
                }
            }
            for (const key of keys) this.again(key, "date");
        }, this.clock.until(date));
    }
}
