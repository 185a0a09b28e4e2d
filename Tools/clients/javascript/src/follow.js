// What a program follows, and the subscriptions that bring it.

import { TelltaleError } from "./gateway.js";

/** Alerts and milestones that wait for their reader at most; rows are folded. */
const MOST_WAITING = 256;

/** The subscriptions that have all rows of this one: to its kind, and to everything. */
const wider = id => [id.replace(/\/[^,]*/, "/*"), id.replace(/^[^,]*/, "*")];

/**
 * Chooses the subscriptions for what is followed: each as it is, or within a wider one that is followed too. Where there are too
 * many for one stream, keys are followed as their whole kinds.
 *
 * @param {string[]} wanted Each as a stream's `sub=` has it: "coffee-order/7,phone".
 * @returns {Map<string, string>|null} The subscription for each; null where there are too many all the same.
 */
export function plan(wanted, most = 16) {
    for (const offered of [new Set(wanted), new Set(wanted.map(id => wider(id)[0]))]) {
        const chosen = new Map(wanted.map(id => [id, [...wider(id).reverse(), id].find(one => offered.has(one))]));
        if (new Set(chosen.values()).size <= most) return chosen;
    }
    return null;
}

/** One subscription across connections: its rows, and the cursor to resume from. */
export class Subscription {
    rows = new Map();
    isLive = false;
    epoch = "";
    /** Keys that the picture under way has not brought yet; null when there is none. */
    #old = null;
    /** Of which history the revs of the rows are. A reset begins another one. */
    #resets = 0;

    /** @param {string} name Tells it from others of the same id, which begin at other cursors. */
    constructor(id, name, cursor = null) { Object.assign(this, { id, name, cursor, isPartial: Boolean(cursor) }); }

    /** A connection begins. Without a cursor it brings a whole picture. */
    begin() { if (!this.cursor) this.#renew(); }

    #renew() {
        this.isLive = false;
        this.cursor = null;
        this.#old = new Set(this.rows.keys());
    }

    /** @throws {TelltaleError} For a row that is older than the one before it. */
    take({ type, key, rev, row }) {
        if (type === "row") {
            const history = `${this.epoch} ${this.#resets}`;
            const known = this.rows.get(key);
            if (known?.history === history && rev < known.rev) throw new TelltaleError("rev_went_back", `The rev of ${key} went back`);
            this.#old?.delete(key);
            this.rows.set(key, { key, rev, row, history });
        } else if (type === "gone") {
            this.rows.delete(key);
        } else if (type === "reset") {
            this.#resets += 1;
            this.#renew();
        } else if (type === "live") {
            for (const old of this.#old ?? []) this.rows.delete(old);
            this.#old = null;
            this.isLive = true;
        }
    }
}

/** The changes of a pattern, to be iterated or called with. Made by `Telltale.follow`. */
export class Follow {
    /** The newest row of each key, as far as the changes were taken: {key, rev, row}. */
    rows = new Map();
    /** Where to resume after the change that was taken last, also in another process. */
    cursor;
    /** Whether the rows are those of now. Otherwise say that they are old. */
    isCurrent = false;
    subscription = null;
    #takes;
    #call;
    #close;
    /** Changes that wait for the iterator, and which of them a newer row of its key replaces. */
    #queue = [];
    #folds = new Map();
    #reader = () => {};
    /** Keys that were told of, taken or not. */
    #told = new Set();
    #isOver = false;

    /** @param {{cursor?: string, call?: function, close: function, draw: function}} options */
    constructor(id, { cursor = null, call, close, draw = ({ row }) => row }) {
        Object.assign(this, { id, cursor, from: cursor, draw });
        this.#call = call;
        this.#close = close;
        const [pattern] = id.split(",", 1);
        this.#takes = pattern.endsWith("*") ? key => key.startsWith(pattern.slice(0, -1)) : key => key === pattern;
    }

    close() {
        this.#isOver = true;
        this.#close(this);
        this.#reader();
    }

    /** The changes, once. To leave the loop closes the follower. */
    async *[Symbol.asyncIterator]() {
        try {
            for (;;) {
                const entry = this.#queue.shift();
                if (!entry) {
                    if (this.#isOver) return;
                    await new Promise(done => { this.#reader = done; });
                    continue;
                }
                const { change } = entry;
                if (this.#folds.get(change?.key) === entry) this.#folds.delete(change.key);
                this.#apply(entry);
                if (change?.error) throw change.error;
                if (change) yield change;
            }
        } finally {
            this.close();
        }
    }

    /** Takes the rows of another subscription from now on. */
    join(subscription) {
        this.subscription = subscription;
        for (const { key, rev, row } of subscription.rows.values()) this.tell({ type: "row", key, rev, row, snap: true });
        if (subscription.isLive) this.tell({ type: "live" });
    }

    /** A change of the subscription. */
    tell(change) {
        const { type, key } = change;
        if (this.#isOver) return;
        if (key !== undefined && !this.#takes(key)) return;
        if (type === "row") this.#told.add(key);
        if (type === "gone" && !this.#told.delete(key)) return;
        if (type === "live") {
            // What the picture did not bring is gone.
            for (const old of this.#told) if (!this.subscription.rows.has(old)) this.tell({ type: "gone", key: old, why: "reset" });
        }
        this.#put(type === "row" ? { ...change, row: this.draw(change) } : change);
    }

    /** Tells a row again: what is drawn of it has changed. */
    again(key, why) {
        const entry = this.subscription?.rows.get(key);
        if (entry) this.tell({ type: "row", key, rev: entry.rev, row: entry.row, why });
    }

    #put(change) {
        if (change.type === "end") this.#isOver = true;
        const cursor = this.subscription?.cursor ?? null;
        if (this.#call) {
            this.#apply({ change, cursor });
            try {
                this.#call(change, this);
            } catch (error) {
                // The program's own fault is none of the connection.
                queueMicrotask(() => { throw error; });
            }
            return;
        }
        const { type, key } = change;
        const waiting = this.#folds.get(key);
        if (waiting && (type === "row" || type === "gone")) {
            const missed = (waiting.change.skip ?? 0) + (change.rev === waiting.change.rev ? 0 : 1);
            waiting.change = { ...change, skip: (change.skip ?? 0) + missed };
            // The cursor counts when all that waits before it is taken.
            if (this.#queue.at(-1).change) this.#queue.push({ change: null, cursor });
            else this.#queue.at(-1).cursor = cursor;
        } else {
            const entry = { change, cursor };
            this.#queue.push(entry);
            if (type === "row" || type === "gone") this.#folds.set(key, entry);
            else if (key) this.#folds.delete(key);
            else this.#folds.clear();
        }
        if (this.#queue.length > 2 * this.#told.size + MOST_WAITING) {
            const oldest = this.#queue.findIndex(one => /alert|milestone/.test(one.change?.type));
            if (oldest >= 0) this.#queue.splice(oldest, 1);
        }
        this.#reader();
    }

    #apply({ change, cursor }) {
        this.cursor = cursor;
        if (!change) return;
        const { type, key, rev, row } = change;
        if (type === "row") this.rows.set(key, { key, rev, row });
        else if (type === "gone") this.rows.delete(key);
        else if (type === "live") this.isCurrent = true;
        else if (type === "lost" || type === "reset" || type === "end") this.isCurrent = false;
    }
}
