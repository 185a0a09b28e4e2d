// The stream of rows: one for the page. It holds the newest row of each key and view, and says how the link is.

import { refusalOf } from "./api.js";
import { clock } from "./clock.js";

/** No event for so long (marks come each 15 s) means that the link is dead, whatever the browser believes. */
const SILENCE = 40_000;

/**
 * Follows subscriptions. Dispatches "change" with {sub, key}, "alert" with the alert, "refused" with the refusal, and "state".
 *
 * `state` is connecting, live, reconnecting, resumed (back, nothing missed), reset (back, drawn anew), refused (the gateway
 * does not take this stream, and it is not asked for again) or closed.
 */
export class Link extends EventTarget {
    #source = null;
    #lastID = "";
    #rows;
    #old;
    #waiting = new Set();
    #watch = 0;
    #retry = 0;
    #asking = null;
    #wasReset = false;
    #isClosed = false;

    /**
     * @param {string[]} subs Each as the query of a stream takes it: "coffee-order/7,phone".
     * @param {{surface?: string, account?: string, traits?: Object<string, string>}} situation
     */
    constructor(subs, situation = {}) {
        super();
        this.state = "connecting";
        this.subs = subs;
        this.seq = 0;
        this.#rows = subs.map(() => new Map());
        this.#old = subs.map(() => null);
        this.begin(situation);
    }

    /** Starts anew with another situation. What is drawn stays until the new rows are there. */
    begin(situation) {
        this.situation = situation;
        this.#lastID = "";
        this.#connect();
    }

    /** The rows of a subscription, by key. */
    rows(sub) { return this.#rows[sub]; }

    row(sub, key) { return this.#rows[sub].get(key); }

    close() {
        this.#isClosed = true;
        this.#stop();
        this.#become("closed");
    }

    #stop() {
        this.#source?.close();
        this.#asking?.abort();
        this.#asking = null;
        clearTimeout(this.#watch);
        clearTimeout(this.#retry);
    }

    #address() {
        const query = new URLSearchParams();
        for (const sub of this.subs) query.append("sub", sub);
        const { surface, account, traits = {} } = this.situation;
        if (surface) query.set("surface", surface);
        if (account) query.set("account", account);
        for (const [name, value] of Object.entries(traits)) query.append("trait", `${name}:${value}`);
        if (this.#lastID) query.set("lastEventID", this.#lastID);
        return `/v1/stream?${query}`;
    }

    #connect() {
        if (this.#isClosed) return;
        this.#stop();
        const isFirst = !this.#lastID;
        if (isFirst) this.subs.forEach((_, index) => this.#remember(index));
        const source = new EventSource(this.#address());
        this.#source = source;
        const on = (name, run) => source.addEventListener(name, event => {
            if (source !== this.#source) return;
            if (event.lastEventId) this.#lastID = event.lastEventId;
            this.#listen();
            run(JSON.parse(event.data));
        });
        on("hello", data => {
            clock.heard(data.now);
            this.#waiting = new Set(this.subs.keys());
            // The browser came back by itself, to a picture that begins anew.
            if (!this.#lastID) this.subs.forEach((_, index) => this.#remember(index));
        });
        on("row", data => this.#take(data));
        on("gone", data => this.#drop(data.sub - 1, data.key));
        on("reset", data => {
            this.#wasReset = true;
            this.#remember(data.sub - 1);
        });
        on("live", data => this.#live(data.sub - 1));
        on("alert", data => this.#tell("alert", data));
        on("mark", data => clock.heard(data.now));
        on("bye", () => this.#lost());
        source.addEventListener("error", () => {
            if (source !== this.#source) return;
            this.#lost();
            if (source.readyState === EventSource.CLOSED) this.#probe(500);
        });
        this.#listen();
    }

    /** Keys that a new picture does not have are to go when it is whole. */
    #remember(index) { this.#old[index] = new Set(this.#rows[index].keys()); }

    #take({ sub, key, rev, row, snap }) {
        const index = sub - 1;
        this.#old[index]?.delete(key);
        this.seq = Math.max(this.seq, rev);
        this.#rows[index].set(key, { key, rev, row, isSnapshot: Boolean(snap) });
        this.#tell("change", { sub: index, key });
    }

    #drop(index, key) {
        if (this.#rows[index].delete(key)) this.#tell("change", { sub: index, key });
    }

    #live(index) {
        for (const key of this.#old[index] ?? []) this.#drop(index, key);
        this.#old[index] = null;
        this.#waiting.delete(index);
        if (this.#waiting.size) return;
        if (this.state === "connecting" || this.state === "live") return this.#become("live");
        this.#become(this.#wasReset ? "reset" : "resumed");
        this.#wasReset = false;
        setTimeout(() => { if (this.state === "reset" || this.state === "resumed") this.#become("live"); }, 3000);
    }

    #listen() {
        clearTimeout(this.#watch);
        this.#watch = setTimeout(() => { this.#lost(); this.#connect(); }, SILENCE);
    }

    #lost() { if (this.state !== "connecting") this.#become("reconnecting"); }

    /**
     * The browser has given up, and does not tell why: ask for the same stream in a way that shows the answer's status.
     *
     * A refusal is final, but for 429. Everything else is asked again, after 5 s at most.
     */
    #probe(wait) {
        this.#listen();
        clearTimeout(this.#retry);
        this.#retry = setTimeout(async () => {
            const asking = new AbortController();
            this.#asking = asking;
            const answer = await fetch(this.#address(), { headers: { Accept: "text/event-stream" }, signal: asking.signal }).catch(() => null);
            const isFinal = answer && answer.status >= 400 && answer.status < 500 && answer.status !== 429;
            const refusal = isFinal ? await refusalOf(answer) : null;
            // Closed, or restarted meanwhile.
            if (this.#asking !== asking) return;
            if (answer?.ok) return this.#connect();
            asking.abort();
            if (!refusal) return this.#probe(Math.min(wait * 2, 5000));
            this.#stop();
            this.#become("refused");
            this.#tell("refused", refusal);
        }, wait);
    }

    #become(state) {
        if (this.state === state && state !== "live") return;
        this.state = state;
        this.dispatchEvent(new CustomEvent("state"));
    }

    #tell(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }
}
