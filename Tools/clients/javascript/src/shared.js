// Reads whose answers caches share, in place of a stream for each page. A page that needs them imports this module too.

/** In the order and spelling of the gateway's own URLs, by which caches know a question. */
const PARAMETERS = ["sub", "account", "surface", "trait", "caps"];
const encode = value => encodeURIComponent(value).replace(/[!'()]/g, mark => `%${mark.charCodeAt(0).toString(16)}`).replace(/%(2F|2C|3A|40)/g, decodeURIComponent);

/**
 * A `fetch` for `connect(url, { fetch: sharedReads() })`. It answers a stream's request with events made of reads of `/v1/rows`. All
 * other requests are sent as they are. Milestones and alerts are in no read.
 *
 * @param {{fetch?: typeof fetch}} [options] Sends the reads and the other requests.
 * @returns {typeof fetch}
 */
export function sharedReads({ fetch = globalThis.fetch.bind(globalThis) } = {}) {
    return async (address, init = {}) => {
        const url = new URL(address);
        if (!url.pathname.endsWith("/v1/stream")) return fetch(address, init);
        const reads = new Reads(url, { ...init, headers: { ...init.headers, Accept: "application/json" } }, fetch);
        // A refusal is that of the stream.
        const first = await reads.next();
        if (!first.ok) return first;
        const text = new TextEncoder();
        const body = new ReadableStream({
            start(controller) { controller.enqueue(text.encode(reads.take())); },
            async pull(controller) {
                const answer = await reads.next();
                if (!answer.ok) return controller.close();
                controller.enqueue(text.encode(reads.take()));
            },
        });
        return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    };
}

/** The reads that stand for one stream. */
class Reads {
    #address;
    #init;
    #fetch;
    /** The cursor of the newest answer, as the gateway wrote it. */
    #position;
    /** The places that were told. */
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

    /** Reads what has changed. A daemon that is away is a refusal. */
    async next() {
        // What is drawn as old is told at once whether it is.
        const more = this.#position ? `&from=${encode(this.#position)}${this.#isLive ? "" : "&wait=0"}` : "";
        const response = await this.#fetch(this.#address + more, this.#init);
        if (!response.ok) return response;
        this.#answer = await response.json();
        this.#date = Date.parse(response.headers.get("Date")) + 1000 * Number(response.headers.get("Age"));
        return this.#answer.lost ? new Response(JSON.stringify({ code: this.#answer.lost }), { status: 503 }) : response;
    }

    /** The events of the newest answer. */
    take() {
        const { cursor, rows, gone, reset = [] } = this.#answer;
        const isWhole = !this.#isLive;
        this.#isLive = true;
        this.#position = cursor;
        // Behind the dot is the second of an answer without a change.
        const places = cursor.split(".")[0].split("~");
        const texts = [event("hello", { epoch: places[0].split(":")[0], ...(this.#date && { now: this.#date }) })];
        for (let sub = 1; sub <= places.length; sub++) {
            const told = [["reset", reset], ["row", rows], ["gone", gone]].flatMap(([name, all]) => all.filter(one => one.sub === sub).map(one => [name, one]));
            if (isWhole || told[0]?.[0] === "reset") told.push(["live", { sub }]);
            if (!told.length) continue;
            const last = told.pop();
            this.#places = this.#places.map((place, index) => (index === sub - 1 ? places[index] : place));
            texts.push(...told.map(one => event(...one)), event(...last, this.#places));
        }
        this.#places = places;
        return texts.join("") + event("read", {}, places);
    }
}

/** The places stand behind all that they cover: one for each subscription, as in a stream. */
const event = (name, data, places) => `event: ${name}\ndata: ${JSON.stringify(data)}\n${places ? `id: ${places.join("~")}\n` : ""}\n`;
