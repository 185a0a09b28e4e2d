// A client for browsers, Node and Deno: follows rows, posts events, taps controls. README.md has examples.

import { Channel } from "./channel.js";
import { Gateway, TelltaleError } from "./gateway.js";
import { ServerClock } from "./servertime.js";

export { TelltaleError } from "./gateway.js";
export { datesOf, entryAt } from "./servertime.js";

/** Streams of one page: a browser has six connections to a host over HTTP/1.1. */
const MOST_STREAMS = 2;
/** What a gateway takes as the body of an event. */
const MOST_BYTES = 64_000;
/** How long an answer to a tap may take, until the device has done it, in seconds. */
const TAP_WAIT = 25;

const SEGMENT = "[A-Za-z0-9._~:@-]{1,64}";
const PATTERN_WORDS = "No pattern, which is kind/id, kind/* or *";
const KEY = new RegExp(`^${SEGMENT}/${SEGMENT}$`);
const PATTERN = new RegExp(`^(\\*|${SEGMENT}/(\\*|${SEGMENT}))$`);

function check(isValid, what, value) {
    if (!isValid) throw new TelltaleError("invalid", `${what}: ${JSON.stringify(value)?.slice(0, 200)}`, { isFinal: true });
}

const isWord = value => /^[!-~]{1,256}$/.test(value) && (typeof value === "string" || (Number.isSafeInteger(value) && value >= 0));

/** Puts words and numbers into a query. What is undefined or empty is left out. */
function put(query, values) {
    for (const [name, value] of Object.entries(values)) {
        if (value === undefined || value === "") continue;
        check(isWord(value), `${name} cannot be`, value);
        query.append(name, value);
    }
    return query;
}

/**
 * A client of one gateway, or of several that serve the same daemon.
 *
 * @param {string|string[]} [addresses] By default that of the page, where there is one.
 */
export function connect(addresses = location.origin, options = {}) {
    return new Telltale([addresses].flat(), options);
}

export class Telltale {
    #gateway;
    #options;
    #channels = new Map();
    #clock = new ServerClock();
    /** The last tap on each key: what it wants, and the rev from which on the row tells it by itself. */
    #taps = new Map();
    #hiding = 0;
    #over = new AbortController();

    constructor(addresses, options) {
        this.#options = options;
        this.#gateway = new Gateway(addresses, options);
        this.#watchPage();
    }

    /** The server's time in Unix milliseconds: that of the dates in rows. */
    now() { return this.#clock.now(); }

    /**
     * Follows the rows of a pattern.
     *
     * @param {string} pattern kind/id, kind/* or *.
     * @param {function} [call] Is called with each change. Without it, the follower is iterated.
     */
    follow(pattern, options = {}, call = undefined) {
        if (typeof options === "function") [options, call] = [{}, options];
        check(PATTERN.test(pattern), PATTERN_WORDS, pattern);
        const { view = "", placement = "", cursor } = options;
        for (const word of [view, placement]) check(/^[A-Za-z]*$/.test(word), "No view or placement", word);
        const id = `${pattern},${view},${placement}`.replace(/,+$/, "");
        const query = this.#situation(options);
        return this.#channel(query).follow(id, { cursor, call, draw: change => this.#draw(change) });
    }

    #channel(query) {
        const name = String(query);
        if (this.#channels.has(name)) return this.#channels.get(name);
        check(this.#channels.size < MOST_STREAMS, "A page follows as two devices at most, and not also as", name);
        const { tabs, token } = this.#options;
        // Tabs with tokens may be different people's. They share a stream where the program says that they are not.
        const isShared = globalThis.document && globalThis.navigator?.locks && tabs !== false && (tabs || !token);
        const channel = new Channel(this.#gateway, query, {
            clock: this.#clock,
            name: isShared ? `telltale ${this.#gateway.address} ${name} ${tabs ?? ""}` : null,
            ended: () => { if (this.#channels.get(name) === channel) this.#channels.delete(name); },
        });
        this.#channels.set(name, channel);
        return channel;
    }

    /** The device that looks: options of one call, or those of the client. */
    #situation(options) {
        const { surface, account, traits, caps } = { ...this.#options, ...options };
        const query = put(new URLSearchParams(), { surface, account, caps });
        for (const [name, value] of Object.entries(traits ?? {})) put(query, { trait: isWord(value) ? `${name}:${value}` : value });
        return query;
    }

    /** Closes all followers. */
    close() {
        this.#over.abort();
        clearTimeout(this.#hiding);
        for (const channel of [...this.#channels.values()]) channel.close();
    }

    // Requests.

    /** Posts an event. It is on disk when the promise is kept, and takes effect once, however often it was sent. */
    async post(key, type, { attributes, content, alert, data = {}, accounts, at, ver, eid, timeout } = {}) {
        check(isWord(type), "No type of an event", type);
        const query = put(new URLSearchParams(), { at, ver, for: [accounts ?? []].flat().join() });
        const body = JSON.stringify({ ...data, ...(attributes && { attributes }), ...(content && { "content-state": content }), ...(alert && { alert }) });
        const bytes = new TextEncoder().encode(body).length;
        check(bytes <= MOST_BYTES, `An event has at most ${MOST_BYTES} bytes`, bytes);
        return this.#ask("POST", key, `/events/${encodeURIComponent(type)}`, query, { body, eid, timeout });
    }

    /** The row of a key as it is now. */
    async get(key, { view, ...situation } = {}) { return this.#ask("GET", key, "", put(this.#situation(situation), { view })); }

    /** Every row of a pattern as it is now. */
    async list(pattern = "*", { view, ...situation } = {}) {
        check(PATTERN.test(pattern), PATTERN_WORDS, pattern);
        return (await this.#gateway.ask("GET", `/v1/entities?${put(this.#situation(situation), { pattern, view })}`)).entities;
    }

    /**
     * Sets a toggle. This client's followers show it as wanted at once, until the device has done it or has not.
     *
     * @param {{ifRev?: number}} [options] With `ifRev` it acts on that row alone, and is refused with `stale_rev` otherwise.
     */
    async set(key, isOn, { ifRev, eid, ...situation } = {}) {
        check(typeof isOn === "boolean", "No value of a toggle", isOn);
        const headers = ifRev === undefined ? {} : { "If-Match": `"${ifRev}"` };
        return this.#tap("PUT", key, "/value", situation, { shown: isOn }, { headers, body: isOn ? "on" : "off", eid });
    }

    /** Presses a button. */
    async press(key, { eid, ...situation } = {}) { return this.#tap("POST", key, "/press", situation, {}, { eid }); }

    /** A person swiped the activity away, on all devices of the account. */
    async dismiss(key, situation = {}) { return this.#ask("POST", key, "/dismiss", this.#situation(situation)); }

    /** Shows what a tap wants while it is under way. */
    async #tap(method, key, path, situation, wants, { headers = {}, ...options }) {
        const tap = { wants, until: Infinity };
        const show = () => { for (const channel of this.#channels.values()) channel.again(key, "tap"); };
        this.#taps.set(key, tap);
        show();
        try {
            const timeout = this.#gateway.timing.timeout + TAP_WAIT * 1000;
            headers.Prefer = `wait=${TAP_WAIT}`;
            const answer = await this.#ask(method, key, path, this.#situation(situation), { ...options, headers, timeout });
            // The row that shows what became of it may still be on its way.
            tap.until = answer.rev ?? 0;
            return answer;
        } catch (fault) {
            tap.until = 0;
            throw fault;
        } finally {
            show();
        }
    }

    #draw({ key, rev, row }) {
        const tap = this.#taps.get(key);
        if (!tap || !row.control || rev >= tap.until) return row;
        return { ...row, ...tap.wants, phase: row.phase === "performing" ? row.phase : "pending" };
    }

    async #ask(method, key, path, query, options = {}) {
        check(KEY.test(key), "No key, which is kind/id", key);
        check(options.eid === undefined || isWord(options.eid), "No eid", options.eid);
        return this.#gateway.ask(method, `/v1/entities/${key}${path}?${query}`, options);
    }

    // The page around it.

    /** A page that is hidden for long needs no rows; one that comes back, or is online again, needs them at once. */
    #watchPage() {
        const { document } = globalThis;
        if (!document) return;
        const { signal } = this.#over;
        const all = name => { for (const channel of this.#channels.values()) channel.source[name](); };
        document.addEventListener("visibilitychange", () => {
            clearTimeout(this.#hiding);
            if (document.visibilityState === "visible") all("wake");
            else this.#hiding = setTimeout(all, this.#gateway.timing.hidden, "hide");
        }, { signal });
        globalThis.addEventListener("online", () => all("wake"), { signal });
        globalThis.addEventListener("offline", () => all("cut"), { signal });
    }
}
