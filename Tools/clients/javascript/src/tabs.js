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
    /** What other tabs follow: their ids, and what each follows by its own subscription. */
    #others = new Map();
    #over = new AbortController();

    constructor(name, channel, open) {
        this.#channel = channel;
        this.#open = open;
        this.#bus = new BroadcastChannel(name);
        this.#bus.onmessage = ({ data }) => this.#hear(data);
        this.#hold(`${name} ${this.#id}`, () => {});
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
    #ask() { this.#bus.postMessage({ from: this.#id, wanted: this.#isHidden ? [] : this.#subscriptions.map(({ id }) => id) }); }

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

    #hear({ isLeading, from, wanted, to, id, change, cursor, now }) {
        if (isLeading) return this.#ask();
        if (wanted) return this.#stream && this.#serve(from, wanted);
        if (to !== this.#id || this.#stream) return;
        this.#channel.clock.heard(now);
        if (change.type === "lost") return this.#channel.lost();
        if (change.type === "end") return this.#channel.end(new TelltaleError(change.error.code, change.error.message, change.error));
        const subscription = this.#subscriptions.find(one => one.id === id);
        if (!subscription) return;
        if (change.type === "begin") subscription.cursor = null, subscription.begin();
        else this.#channel.take(subscription, change, cursor);
    }

    /** Follows for another tab what it wants, until it wants something else or closes. */
    #serve(tab, wanted) {
        if (!this.#others.has(tab)) navigator.locks.request(`${this.name} ${tab}`, { signal: this.#over.signal }, () => this.#serve(tab, [])).catch(() => {});
        const follows = this.#others.get(tab) ?? new Map();
        if (wanted.length) this.#others.set(tab, follows);
        else this.#others.delete(tab);
        for (const [id, follow] of follows) if (!wanted.includes(id)) { follows.delete(id); follow.close(); }
        for (const id of wanted) {
            if (follows.has(id)) continue;
            const post = (change, { cursor } = {}) => this.#bus.postMessage({ to: tab, id, change: plain(change), cursor, now: this.#channel.clock.now() });
            post({ type: "begin" });
            follows.set(id, this.#channel.follow(id, { call: post }));
        }
        if (this.#isHidden) this.#others.size ? this.#stream.wake() : this.#stream.hide();
    }
}

const plain = change => (change.error ? { ...change, error: { ...change.error, cause: undefined, message: change.error.message } } : change);
