// Requests to a gateway: addresses, tokens, refusals, repeats.

/** What a request or a subscription failed with. `code` is the server's, or one of `client` in README.md. */
export class TelltaleError extends Error {
    constructor(code, message, more = {}) {
        super(message, more.cause && { cause: more.cause });
        this.name = "TelltaleError";
        Object.assign(this, { status: 0, isFinal: false }, more, { code });
    }
}

/** Pauses in milliseconds. A test shortens them; a slow network may need longer ones. */
export const TIMING = { first: 100, longest: 10_000, silence: 45_000, timeout: 30_000, hidden: 30_000 };

/** The pause before an attempt: doubled each time, a random point of the upper half. */
export function backOff(attempt, { first, longest }, random = Math.random) {
    return Math.min(longest, first * 2 ** attempt) * (1 + random()) / 2;
}

/** What an answer of 400 and above says (RFC 9457). */
async function refusalOf(answer) {
    const problem = await answer.json().catch(() => null) ?? {};
    const isFinal = ["cooling", "version_unsupported"].includes(problem.code) || (answer.status < 500 && ![408, 429].includes(answer.status));
    const wait = Number(answer.headers.get("Retry-After")) * 1000 || undefined;
    const { code = "refused", title = `The gateway answered ${answer.status}` } = problem;
    return new TelltaleError(code, title, { ...problem, status: answer.status, isFinal, wait });
}

export class Gateway {
    #addresses;
    #place = 0;
    #askToken;
    #token = null;
    #renewing = null;
    #fetch;

    constructor(addresses, { token, timing, fetch } = {}) {
        this.#fetch = fetch;
        this.#addresses = addresses.map(address => String(address).replace(/\/$/, ""));
        this.#askToken = typeof token === "string" ? () => token : token;
        this.timing = { ...TIMING, ...timing };
    }

    get address() { return this.#addresses[this.#place]; }

    /**
     * Sends once. A token is sent to a gateway that has asked for one; a 401 renews it, and the request is sent again.
     *
     * @returns {Promise<Response>} Of a status below 400.
     */
    async send(method, path, { headers = {}, accept = "application/json", body, signal } = {}) {
        for (let isRenewed = false; ; isRenewed = true) {
            const token = this.#token;
            const fields = { ...headers, Accept: accept, ...(token !== null && { Authorization: `Bearer ${token}` }) };
            let answer;
            try {
                answer = await (0, this.#fetch ?? fetch)(this.address + path, { method, headers: fields, body, signal });
            } catch (cause) {
                signal?.throwIfAborted();
                const fault = new TelltaleError("unreachable", `${this.address} does not answer`, { cause });
                this.#place = (this.#place + 1) % this.#addresses.length;
                throw fault;
            }
            if (answer.status < 400) {
                if (answer.headers.get("Content-Type")?.startsWith(accept)) return answer;
                throw new TelltaleError("no_gateway", `${this.address} is no Telltale gateway`, { isFinal: true });
            }
            if (answer.status !== 401 || !this.#askToken || isRenewed) throw await refusalOf(answer);
            await answer.body?.cancel();
            await this.#renew(token);
        }
    }

    async #renew(old) {
        // Another request may have renewed it meanwhile.
        if (this.#token !== old) return;
        this.#renewing ??= (async () => this.#askToken())().finally(() => { this.#renewing = null; });
        try {
            this.#token = await this.#renewing;
        } catch (cause) {
            throw new TelltaleError("no_token", "The token could not be renewed", { cause });
        }
    }

    /**
     * Asks until there is an answer, for at most `timeout` milliseconds. Repeats carry one key and take effect once.
     *
     * @returns {Promise<any>} The answer's JSON.
     */
    async ask(method, path, { headers = {}, body, eid, timeout = this.timing.timeout } = {}) {
        const signal = AbortSignal.timeout(timeout);
        if (method !== "GET") headers["Idempotency-Key"] = eid ??= randomID();
        let cause;
        for (let attempt = 0; ; attempt++) {
            try {
                // A body that is cut is no answer.
                return await (await this.send(method, path, { headers, body, signal })).json();
            } catch (fault) {
                if (fault.isFinal) throw Object.assign(fault, { eid });
                if (signal.aborted) throw new TelltaleError("timed_out", `No answer within ${timeout} ms`, { eid, cause });
                cause = fault;
                await pause(fault.wait ?? backOff(attempt, this.timing), signal);
            }
        }
    }
}

/** `crypto.randomUUID` is there on pages of HTTPS alone. */
export function randomID() { return crypto.getRandomValues(new Uint32Array(4)).join("-"); }

/** Waits, and no longer than until a signal. */
export function pause(milliseconds, signal) {
    return new Promise(done => {
        const timer = setTimeout(done, milliseconds);
        signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
    });
}
