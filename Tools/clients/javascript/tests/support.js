// Real daemons and gateways, scripted ones, and connections that are cut.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

export const REPOSITORY = fileURLToPath(new URL("../../../../", import.meta.url));
const PROGRAMS = {
    telltaled: process.env.TELLTALED ?? join(REPOSITORY, ".build/debug/telltaled"),
    gateway: process.env.TELLTALE_GATEWAY ?? join(REPOSITORY, "Tools/telltale-gateway/.build/debug/telltale-gateway"),
};
/** Without the settings of programs, which this one's tests are not to have. */
const ENVIRONMENT = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TELLTALE")));
/** Longer than anything takes on a slow machine. A test that waits so long has failed. */
const LIMIT = 120_000;
/** Pauses for tests: soon again, and never for want of an answer. */
export const SOON = { first: 1, longest: 20, timeout: LIMIT };

/** A test of a row of Protocols/Clients/behaviours.md. The list of `list.test.js` reads the first argument. */
export const behaviour = (id, name, run) => test(`${id}: ${name}`, { timeout: LIMIT }, run);

const iterators = new WeakMap();

export function next(follow) {
    if (!iterators.has(follow)) iterators.set(follow, follow[Symbol.asyncIterator]());
    return iterators.get(follow).next();
}

/** The changes up to one of a type, that one included. */
export async function until(follow, type) {
    const changes = [];
    for (;;) {
        const { done, value } = await next(follow);
        assert.ok(!done, `it ended before ${type}`);
        changes.push(value);
        if (value.type === type) return changes;
    }
}

export const rows = changes => changes.filter(({ type }) => type === "row" || type === "gone").map(({ key, rev }) => [key, rev]);

/** Waits until something is true. The limit of the test is that of the wait. */
export async function eventually(check) {
    for (;;) {
        const found = await check();
        if (found) return found;
        await new Promise(done => setTimeout(done, 5));
    }
}

/** Starts a program, whose first line says where it serves. */
async function start(t, program, ...options) {
    const child = spawn(program, options, { env: ENVIRONMENT, stdio: ["ignore", "pipe", "pipe"] });
    child.on("error", error => { throw error; });
    t.after(() => child.kill("SIGKILL"));
    let log = "";
    child.stderr.on("data", data => { log = (log + data).slice(-2000); });
    const ended = once(child, "close").then(([status, signal]) => assert.fail(`${program} ended with ${status ?? signal}: ${log}`));
    const [line] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended]);
    const ready = Object.fromEntries(line.split(" ").slice(1).map(word => word.split("=")));
    const stop = async signal => {
        const exit = once(child, "exit");
        child.kill(signal);
        await exit;
    };
    return { ready, stop };
}

/** A daemon and a gateway for one test. */
export async function world(t) {
    const folder = await mkdtemp(join(tmpdir(), "telltale-js-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const socket = join(folder, "s");
    const decide = (port = 0) => start(t, PROGRAMS.telltaled, "--data", join(folder, "data"), "--kinds", join(REPOSITORY, "Protocols/Kinds/examples"), "--listen", `127.0.0.1:${port}`, "--socket", socket);
    const daemon = await decide();
    const daemonPort = Number(daemon.ready.tcp.split(":").at(-1));
    const serve = (listen = "http://127.0.0.1:0") => start(t, PROGRAMS.gateway, "--connect", `unix:${socket}`, "--listen", listen, "--ops-listen", "127.0.0.1:0");
    const gateway = await serve();
    const url = `http://${gateway.ready.http}`;
    return { url, gateway, again: () => serve(url), daemon, daemonPort, daemonAgain: () => decide(daemonPort) };
}

/** Passes bytes on to a gateway, and cuts connections: all of them, or the first one that answers with some text. */
export async function proxy(t, url) {
    const target = new URL(url);
    const sockets = new Set();
    let word = null;
    const server = net.createServer(near => {
        const far = net.connect(Number(target.port), target.hostname);
        for (const [one, other] of [[near, far], [far, near]]) {
            sockets.add(one);
            one.on("error", () => {}).on("close", () => { sockets.delete(one); other.destroy(); });
        }
        near.on("data", data => { proxy.asked.push(data.toString()); far.write(data); });
        far.on("data", data => {
            if (word && data.includes(word)) {
                word = null;
                return near.destroy();
            }
            near.write(data);
        });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const cut = () => { for (const socket of sockets) socket.destroy(); };
    t.after(() => { cut(); server.close(); });
    const proxy = { url: `http://127.0.0.1:${server.address().port}`, asked: [], cut, cutBefore: text => { word = text; } };
    return proxy;
}

/** A gateway that a test plays: each request is answered by the next of the functions, the last of which stays. */
export async function script(t, ...answers) {
    const requests = [];
    const server = http.createServer((request, response) => {
        const chunks = [];
        request.on("data", chunk => chunks.push(chunk)).on("end", () => {
            requests.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString(), ended: new Promise(done => response.on("close", done)) });
            (answers.length > 1 ? answers.shift() : answers[0])(response, requests.at(-1));
        });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => { server.closeAllConnections(); server.close(); });
    return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

export const EPOCH = "0123456789abcdef";
export const cursor = seq => `${EPOCH}:${seq}:b0e4`;

/** Answers with events, and stays open. An event is [name, data, id]. */
export const stream = (...events) => response => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write("retry: 2000\n\n");
    for (const event of events) send(response, ...event);
};

export function send(response, name, data, id) { response.write(`event: ${name}\n${id ? `id: ${id}\n` : ""}data: ${JSON.stringify(data)}\n\n`); }

export const hello = (epoch = EPOCH) => ["hello", { epoch, now: Date.now(), subs: [] }];
export const row = (key, rev, id, body = {}) => ["row", { sub: 1, key, rev, row: body, ...(id ? {} : { snap: true }) }, id];
export const live = seq => ["live", { sub: 1 }, cursor(seq)];

export const json = (data, status = 200, headers = {}) => response => {
    response.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json", ...headers });
    response.end(JSON.stringify(data));
};

export const problem = (status, code, headers) => json({ type: `/errors#${code}`, title: code, status, code, retry: "no" }, status, headers);

/** Serves a kind of controls by the line protocol: reports a value, and does what it is asked to once it is told to. */
export async function provider(t, port, kind, ...reports) {
    const socket = net.connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    const lines = createInterface({ input: socket });
    const asked = [];
    let wake = () => {};
    lines.on("line", line => { if (line.startsWith("DO ")) { asked.push(/ op=(\S+)/.exec(line)[1]); wake(); } });
    socket.write(`HELLO client=device\nSERVE ${kind}\n${reports.map(report => `REPORT ${report}\n`).join("")}`);
    return {
        async next() {
            while (!asked.length) await new Promise(done => { wake = done; });
            return asked.shift();
        },
        answer: (verb, op) => socket.write(`${verb} op=${op}\n`),
        /** Once the daemon has answered what was sent. */
        async close() {
            const ended = once(socket, "close");
            socket.end();
            socket.resume();
            await ended;
        },
    };
}

export const page = async name => readFile(join(REPOSITORY, name), "utf8");
