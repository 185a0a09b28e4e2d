// Requests to the gateway that served the page. Each refusal is an object of RFC 9457.

/** A refusal, with the members of its problem document. */
export class Refusal extends Error {
    constructor(status, problem) {
        super(problem.title ?? `The gateway answered ${status}`);
        this.status = status;
        this.code = problem.code ?? String(status);
        this.problem = problem;
    }
}

let whenUnauthorized = () => {};

/** Calls a function once a request needs a token. */
export function onUnauthorized(run) { whenUnauthorized = run; }

/** An entity's path in the API. */
export function entityPath(key) {
    return "/v1/entities/" + key.split("/").map(encodeURIComponent).join("/");
}

/** The page of an entity. */
export function pagePath(key) {
    return "/" + key.split("/").map(encodeURIComponent).join("/");
}

/**
 * Asks, and reads the answer as JSON.
 *
 * `wait` is how many seconds the answer to a tap may take, until its operation has ended.
 *
 * @returns {Promise<{status: number, data: any, tag: string|null}>}
 * @throws {Refusal} For a status of 400 and above, and where no gateway answers (code "gateway_unreachable").
 */
export async function ask(method, path, { body, ifMatch, accept, wait } = {}) {
    const headers = {};
    if (ifMatch !== undefined) headers["If-Match"] = `"${ifMatch}"`;
    if (accept) headers.Accept = accept;
    if (wait) headers.Prefer = `wait=${wait}`;
    if (body !== undefined && typeof body !== "string") {
        body = JSON.stringify(body);
        headers["Content-Type"] = "application/json";
    }
    let answer;
    try {
        answer = await fetch(path, { method, headers, body, credentials: "same-origin" });
    } catch {
        throw new Refusal(0, { code: "gateway_unreachable", title: "The gateway does not answer; try again" });
    }
    if (answer.status >= 400) throw await refusalOf(answer);
    const text = await answer.text();
    let data = null;
    try { data = text ? JSON.parse(text) : null; } catch { data = text; }
    return { status: answer.status, data, tag: answer.headers.get("ETag") };
}

/** What an answer of 400 and above says. */
export async function refusalOf(answer) {
    if (answer.status === 401) whenUnauthorized();
    const data = await answer.json().catch(() => null);
    return new Refusal(answer.status, data && typeof data === "object" ? data : {});
}

/**
 * Makes an asynchronous function run once at a time. Calls while it runs make it run once more, so that its last run begins
 * after the last call.
 */
export function oneAtATime(run) {
    let isRunning = false;
    let isDue = false;
    return async () => {
        isDue = true;
        if (isRunning) return;
        isRunning = true;
        try {
            while (isDue) {
                isDue = false;
                await run();
            }
        } finally {
            isRunning = false;
        }
    };
}
