// One stream for all tabs of a browser: one tab has it, and passes the rows on. When that tab closes, another one takes its place.

import { TelltaleError, randomID } from "./gateway.js";

export class Tabs {
    #id = randomID();
    #channel;
    #bus;
    #open;
    /** The stream, in the tab that has it. */
    #stream = null;
    #subscriptions = [];
    #isHidden = false;
    #isHeld = false;
    /** What other tabs follow: their ids, and what each follows by its own subscription. */
    #others = new Map();
    #over = new AbortController();

    constructor(name, channel, open) {
        this.#channel = channel;
        this.#open = open;
        this.#bus = new BroadcastChannel(name);
        this.#bus.onmessage = ({ data }) => this.#hear(data);
        // Not before it has this lock: the tab with the stream waits for the lock, and takes it for the end of this tab.
        this.#hold(`${name} ${this.#id}`, () => {
            this.#isHeld = true;
            this.#ask();
        });
        this.#hold(name, () => this.#lead());
        this.name = name;
    }

    /** Runs when a lock is this tab's, and keeps it until the end. */
    #hold(name, run) {
        const over = new Promise(done => this.#over.signal.addEventListener("abort", done));
        navigator.locks.request(name, { signal: this.#over.signal }, () => (run(), over)).catch(() => {});
    }

    #lead() {
        this.#stream = this.#open();
        if (this.#isHidden) this.#stream.hide();
        this.#stream.update(this.#subscriptions);
        this.#bus.postMessage({ isLeading: true });
    }

    update(subscriptions) {
        this.#subscriptions = subscriptions;
        if (this.#stream) this.#stream.update(subscriptions);
        else this.#ask();
    }

    /** Says what this tab follows, to the one that has the stream. */
    #ask() { if (this.#isHeld) this.#bus.postMessage({ from: this.#id, wanted: this.#isHidden ? [] : this.#subscriptions.map(({ id, name, isPartial, cursor }) => ({ id, name, cursor: isPartial ? cursor : null })) }); }

    wake() {
        const wasHidden = this.#isHidden;
        this.#isHidden = false;
        if (this.#stream) this.#stream.wake();
        else if (wasHidden) this.#ask();
    }

    hide() {
        this.#isHidden = true;
        if (this.#stream) return this.#others.size || this.#stream.hide();
        this.#ask();
        this.#channel.lost();
    }

    cut() { this.#stream?.cut(); }

    leave() {
        this.#over.abort();
        this.#bus.close();
    }

    #hear({ isLeading, from, wanted, to, name, change, cursor, now }) {
        if (isLeading) return this.#ask();
        if (wanted) return this.#stream && this.#serve(from, wanted);
        if (to !== this.#id || this.#stream) return;
        this.#channel.heard(now);
        if (change.type === "lost") return this.#channel.lost();
        if (change.type === "end") return this.#channel.end(new TelltaleError(change.code, change.message, { isFinal: true }));
        const subscription = this.#subscriptions.find(one => one.name === name);
        if (!subscription) return;
        if (change.type !== "begin") return this.#channel.take(subscription, change, cursor);
        // The rows come from the other tab, and not from a cursor.
        subscription.cursor = null;
        subscription.begin();
    }

    /** Follows for another tab what it wants, until it wants something else or closes. */
    #serve(tab, wanted) {
        if (!this.#others.has(tab)) navigator.locks.request(`${this.name} ${tab}`, { signal: this.#over.signal }, () => this.#serve(tab, [])).catch(() => {});
        const follows = this.#others.get(tab) ?? new Map();
        if (wanted.length) this.#others.set(tab, follows);
        else this.#others.delete(tab);
        for (const [name, follow] of follows) if (!wanted.some(one => one.name === name)) { follows.delete(name); follow.close(); }
        for (const { id, name, cursor } of wanted) {
            if (follows.has(name)) continue;
            const post = (change, { cursor } = {}) => this.#bus.postMessage({ to: tab, name, change: plain(change), cursor, now: this.#channel.clock.now() });
            if (!cursor) post({ type: "begin" });
            follows.set(name, this.#channel.follow(id, { cursor, call: post }));
        }
        if (this.#isHidden) this.#others.size ? this.#stream.wake() : this.#stream.hide();
    }
}

/** A change as another tab can be told it. */
const plain = ({ error, ...change }) => (error ? { ...change, code: error.code, message: error.message } : change);
