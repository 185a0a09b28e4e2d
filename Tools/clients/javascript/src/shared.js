// Reads whose answers caches share, instead of a stream for each page. Only a page that wants them imports this module.

/** The gateway redirects every other order and spelling, which costs a request. */
const PARAMETERS = ["sub", "account", "surface", "trait", "caps"];
const encode = value => encodeURIComponent(value).replace(/[!'()]/g, mark => `%${mark.charCodeAt(0).toString(16)}`).replace(/%(2F|2C|3A|40)/g, decodeURIComponent);

/**
 * A `fetch` for `connect(url, { fetch: sharedReads() })`. It answers the request for a stream with events that it makes of reads of
 * `/v1/rows`, and sends all other requests unchanged. These reads have no milestones and no alerts.
 *
 * @param {{fetch?: typeof fetch}} [options] Sends the reads and the other requests.
 * @returns {typeof fetch}
 */
export function sharedReads({ fetch = globalThis.fetch.bind(globalThis) } = {}) {
    return async (address, init = {}) => {
        const url = new URL(address);
        if (!url.pathname.endsWith("/v1/stream")) return fetch(address, init);
        const reads = new Reads(url, { ...init, headers: { ...init.headers, Accept: "application/json" } }, fetch);
        // The caller gets a refusal as if the stream had been refused.
        const refusal = await reads.next();
        if (refusal) return refusal;
        const text = new TextEncoder();
        const body = new ReadableStream({
            start(controller) { controller.enqueue(text.encode(reads.take())); },
            async pull(controller) {
                if (await reads.next()) return controller.close();
                controller.enqueue(text.encode(reads.take()));
            },
        });
        return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    };
}

/** Makes the events of one stream from repeated reads. */
class Reads {
    #address;
    #init;
    #fetch;
    /** The cursor of the newest answer, as the gateway wrote it. */
    #position;
    /** The cursor of each subscription that the events so far have reached; "-" = none. */
    #places;
    #answer;
    #date;
    #isLive = false;

    constructor(url, init, fetch) {
        const query = url.searchParams;
        const items = PARAMETERS.flatMap(name => {
            let values = query.getAll(name);
            if (name === "trait") values.sort();
            // Without a surface a subscription is whole by itself.
            if (name === "sub" && !query.has("surface")) values = values.map(value => value.replace(/,full$/, ""));
            return values.map(value => `${name}=${encode(value)}`);
        });
        this.#address = `${url.href.split("?")[0].replace(/stream$/, "rows")}?${items.join("&")}`;
        this.#position = query.get("lastEventID");
        this.#places = this.#position?.split("~") ?? query.getAll("sub").map(() => "-");
        this.#init = init;
        this.#fetch = fetch;
    }

    /**
     * Reads what has changed.
     *
     * @returns {Promise<Response|null>} null for an answer that `take` turns into events. What a gateway refuses or what is none of its
     *     answers, as it came: no stream. 503 if the gateway has lost the daemon.
     */
    async next() {
        // A reader that resumes draws its rows as old until the first answer, so that one does not wait.
        const more = this.#position ? `&from=${encode(this.#position)}${this.#isLive ? "" : "&wait=0"}` : "";
        const response = await this.#fetch(this.#address + more, this.#init);
        if (!response.ok || !response.headers.get("Content-Type")?.startsWith("application/json")) return response;
        const answer = await response.json();
        if (typeof answer?.cursor !== "string" || !Array.isArray(answer.rows) || !Array.isArray(answer.gone)) return new Response();
        // A cache that does not look at the query would be asked without a pause.
        if (this.#isLive && answer.cursor === this.#position) return new Response();
        if (answer.lost) return new Response(JSON.stringify({ code: answer.lost }), { status: 503 });
        this.#answer = answer;
        this.#date = Date.parse(response.headers.get("Date")) + 1000 * Number(response.headers.get("Age"));
        return null;
    }

    /** The events of the newest answer. */
    take() {
        const { cursor, rows, gone, reset = [] } = this.#answer;
        const isWhole = !this.#isLive;
        this.#isLive = true;
        this.#position = cursor;
        // An answer without a change has the second of the answer after a dot.
        const places = cursor.split(".")[0].split("~");
        const texts = [event("hello", { epoch: places[0].split(":")[0], ...(this.#date && { now: this.#date }) })];
        for (let sub = 1; sub <= places.length; sub++) {
            const of = (name, all) => all.filter(one => one.sub === sub).map(one => [name, one]);
            const resets = of("reset", reset);
            const events = [...resets, ...of("row", rows), ...of("gone", gone)];
            if (isWhole || resets.length) events.push(["live", { sub }]);
            this.#places = this.#places.map((place, index) => (index === sub - 1 ? places[index] : place));
            texts.push(...events.map(([name, data], index) => event(name, data, index === events.length - 1 && this.#places)));
        }
        return texts.join("") + event("read", {}, places);
    }
}

/** Writes one event. The id has the cursor of each subscription; the last event of a subscription brings its new one. */
const event = (name, data, places) => `event: ${name}\ndata: ${JSON.stringify(data)}\n${places ? `id: ${places.join("~")}\n` : ""}\n`;
