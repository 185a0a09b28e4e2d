// The server's clock. Dates in rows are on it; this machine's may be wrong, and a demonstration's runs faster.

export class ServerClock {
    #server = 0;
    #local = 0;
    #speed = 1;

    /** The server said what time it is, in Unix milliseconds. */
    heard(now) {
        const local = performance.now();
        const passed = local - this.#local;
        if (this.#server && passed > 5000) {
            const speed = (now - this.#server) / passed;
            this.#speed = speed > 1.5 && speed < 1e5 ? speed : 1;
        }
        this.#server = now;
        this.#local = local;
    }

    /** Unix milliseconds. */
    now() { return this.#server ? this.#server + (performance.now() - this.#local) * this.#speed : Date.now(); }

    /** How long a timer of this machine takes until a date of the server, in milliseconds: at most an hour. */
    until(date) { return Math.min(3_600_000, Math.max(0, Math.ceil((date - this.now()) / this.#speed))); }
}

/** The entry of a widget's row that is shown at a moment: the last one whose date is not ahead. */
export function entryAt(row, now) {
    const entries = row.entries ?? [];
    return entries.findLast(entry => entry.date <= now) ?? entries[0] ?? null;
}

/** The dates at which the picture of a row, or its place, is another one. */
export function datesOf(row) {
    return [...(row.entries ?? []), ...(row.turns ?? []), ...(row.orders ?? [])].map(one => one?.date).filter(Number.isFinite);
}
