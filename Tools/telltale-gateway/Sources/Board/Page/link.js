// The rows of a page: several subscriptions as one, and how their connection is. The client does the work.

import { clock } from "./clock.js";
import { connect } from "./telltale.js";

/** How long the header says that the page is back, in milliseconds. */
const SAID = 3000;

/** The client of the page. */
export const telltale = connect();
clock.follow(telltale);

/**
 * Follows subscriptions. Dispatches "change" with {sub, key}, "alert" with the alert, "refused" with the refusal, and "state".
 *
 * `state` is connecting, live, reconnecting, resumed (back, nothing missed), reset (back, drawn anew), refused (the gateway
 * does not take this stream, and it is not asked for again) or closed.
 */
export class Link extends EventTarget {
    #follows = [];
    #rows;
    #waiting = new Set();
    #wasReset = false;

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
        this.begin(situation);
    }

    /** Starts anew with another situation. What is drawn stays until the new rows are there. */
    begin(situation) {
        if (this.state === "closed") return;
        this.situation = situation;
        for (const follow of this.#follows) follow.close();
        this.#waiting = new Set(this.subs.keys());
        try {
            this.#follows = this.subs.map((sub, index) => {
                const [pattern, view, placement] = sub.split(",");
                return telltale.follow(pattern, { ...situation, view, placement }, (change, follow) => this.#take(index, change, follow));
            });
        } catch (error) {
            // What a person typed, or an address that names no key. Who made this link does not listen yet.
            queueMicrotask(() => this.#take(0, { type: "end", error }));
        }
    }

    /** The rows of a subscription, by key. */
    rows(sub) { return this.#rows[sub]; }

    row(sub, key) { return this.#rows[sub].get(key); }

    close() {
        for (const follow of this.#follows) follow.close();
        this.#become("closed");
    }

    #take(sub, change, follow) {
        const { type, key, rev, row, snap } = change;
        switch (type) {
            case "row":
                this.seq = Math.max(this.seq, rev);
                this.#rows[sub].set(key, { key, rev, row, isSnapshot: Boolean(snap) });
                return this.#tell("change", { sub, key });
            case "gone": return this.#drop(sub, key);
            case "alert": return this.#tell("alert", { ...change, sub: sub + 1 });
            case "reset":
                this.#wasReset = true;
                return;
            case "live":
                // Those of the situation before.
                for (const old of this.#rows[sub].keys()) if (!follow.rows.has(old)) this.#drop(sub, old);
                return this.#live(sub);
            case "lost":
                this.#waiting = new Set(this.subs.keys());
                if (this.state !== "connecting") this.#become("reconnecting");
                return;
            case "end":
                if (this.state === "refused") return;
                this.#become("refused");
                this.#tell("refused", change.error);
        }
    }

    #drop(sub, key) {
        if (this.#rows[sub].delete(key)) this.#tell("change", { sub, key });
    }

    #live(sub) {
        this.#waiting.delete(sub);
        if (this.#waiting.size) return;
        if (this.state !== "reconnecting") return this.#become("live");
        this.#become(this.#wasReset ? "reset" : "resumed");
        this.#wasReset = false;
        setTimeout(() => { if (this.state === "reset" || this.state === "resumed") this.#become("live"); }, SAID);
    }

    #become(state) {
        if (this.state === state && state !== "live") return;
        this.state = state;
        this.dispatchEvent(new CustomEvent("state"));
    }

    #tell(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }
}
