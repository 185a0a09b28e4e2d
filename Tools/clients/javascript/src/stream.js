// One connection of server-sent events: made again when it is lost, with the cursors of its subscriptions.

import { backOff, pause } from "./gateway.js";
import { EventParser } from "./sse.js";

/** The gateway sends something each 15 s. After this silence a connection is not trusted when the page comes back. */
const DOUBTFUL = 20_000;

export class Stream {
    #gateway;
    #query;
    #channel;
    #subscriptions = [];
    #isOn = true;
    #isRunning = false;
    /** Ends the connection that is there. */
    #cut = new AbortController();
    /** Ends the pause before the next one. */
    #rouse = new AbortController();
    #isDue = false;
    #heard = 0;
    #silence = 0;
    #attempt = 0;

    /**
     * @param {URLSearchParams} query The situation.
     * @param {{heard, take, lost, end}} channel Takes what comes.
     */
    constructor(gateway, query, channel) {
        this.#gateway = gateway;
        this.#query = query;
        this.#channel = channel;
    }

    /** Follows these subscriptions. Those that were followed before resume. */
    update(subscriptions) {
        this.#subscriptions = subscriptions;
        this.#again();
    }

    /** Until it is woken. */
    hide() {
        this.#isOn = false;
        this.#again();
    }

    /** The page is in sight again, or the network is back: one request, if the connection is not surely there. */
    wake() {
        if (this.#isOn && this.#isRunning && !this.#rouse.signal.aborted) return this.#rouse.abort();
        if (this.#isOn && this.#isRunning && performance.now() - this.#heard < DOUBTFUL) return;
        this.#isOn = true;
        this.#again();
    }

    /** The network is gone. */
    cut() { this.#cut.abort(); }

    #again() {
        this.#isDue = true;
        this.#cut.abort();
        this.#rouse.abort();
        if (!this.#isRunning) this.#run();
    }

    async #run() {
        this.#isRunning = true;
        while (this.#isOn && this.#subscriptions.length) {
            this.#isDue = false;
            this.#cut = new AbortController();
            let wait;
            let opened = Infinity;
            try {
                wait = await this.#follow(() => { opened = performance.now(); });
            } catch (fault) {
                if (fault.isFinal && !this.#isDue) {
                    this.#isOn = false;
                    this.#channel.end(fault);
                    break;
                }
                wait = fault.wait;
            } finally {
                this.#cut.abort();
                clearTimeout(this.#silence);
            }
            if (this.#isDue) continue;
            this.#channel.lost();
            if (performance.now() - opened >= 1000) this.#attempt = 0;
            this.#rouse = new AbortController();
            await pause(wait ?? backOff(this.#attempt++, this.#gateway.timing), this.#rouse.signal);
            this.#rouse.abort();
        }
        this.#isRunning = false;
        this.#channel.lost();
    }

    /** Reads a connection to its end. Returns the pause that the gateway asked for, if it did. */
    async #follow(opened) {
        const subscriptions = this.#subscriptions;
        const { signal } = this.#cut;
        const query = new URLSearchParams(this.#query);
        for (const { id } of subscriptions) query.append("sub", id);
        if (subscriptions.some(({ cursor }) => cursor)) query.set("lastEventID", subscriptions.map(({ cursor }) => cursor ?? "-").join("~"));
        this.#listen();
        const answer = await this.#gateway.send("GET", `/v1/stream?${query}`, { accept: "text/event-stream", signal });
        opened();
        for (const subscription of subscriptions) subscription.begin();
        const parser = new EventParser();
        const decoder = new TextDecoder();
        for (const reader = answer.body.getReader(); ;) {
            const { done, value } = await reader.read();
            if (done || signal.aborted) return undefined;
            this.#listen();
            for (const { name, data, id } of parser.push(decoder.decode(value, { stream: true }))) {
                const told = JSON.parse(data);
                if (name === "bye") return told.wait;
                if (told.now) this.#channel.heard(told.now);
                if (name === "hello") for (const one of subscriptions) one.epoch = told.epoch;
                // The id has the cursor of each subscription, and "-" for a picture that is not whole.
                const cursors = id?.split("~").map(cursor => (cursor === "-" ? null : cursor));
                if (told.sub) this.#channel.take(subscriptions[told.sub - 1], { type: name, ...told }, cursors?.[told.sub - 1]);
                cursors?.forEach((cursor, index) => { subscriptions[index].cursor = cursor; });
            }
        }
    }

    #listen() {
        this.#heard = performance.now();
        clearTimeout(this.#silence);
        this.#silence = setTimeout(() => this.#cut.abort(), this.#gateway.timing.silence);
    }
}
