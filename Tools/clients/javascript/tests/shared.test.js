// Reads whose answers caches share: the loop of the guide's page "In a web page", and the client with `sharedReads()`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedReads } from "../src/shared.js";
import { connect } from "../src/telltale.js";
import { SOON, next, page, rows, script, until, world } from "./support.js";

test("the guide's loop of shared reads shows each change", { timeout: 120_000 }, async t => {
    const { url } = await world(t);
    const [, program] = /<!-- shared -->\n```js\n(.*?)```/s.exec(await page("Protocols/Guide/web-pages.md"));
    const telltale = connect(url, { timing: SOON });
    t.after(() => telltale.close());
    const asked = [], drawn = [];
    const over = new Error("seen");
    const steps = ["start", "CONFIRMED", "brew"];
    const draw = async (rows, { isOld }) => {
        assert.equal(isOld, false);
        drawn.push([...rows].map(([key, row]) => key + JSON.stringify(row)));
        if (!steps.length) throw over;
        await telltale.post("coffee-order/7", steps.shift());
    };
    const get = path => {
        asked.push(path);
        return fetch(url + path, { redirect: "error" });
    };
    const run = new (async () => {}).constructor("fetch", "draw", program.replace("draw(rows", "await draw(rows"));
    await assert.rejects(run(get, draw), over);
    assert.deepEqual(drawn.map(rows => rows.length), [0, 1, 1, 1]);
    assert.equal(new Set(drawn.slice(1).map(String)).size, 3, drawn.join("; "));
    assert.equal(new Set(asked).size, asked.length, "no URL is asked for twice");
});

/** A client that reads so, and the paths that it asked for by GET. */
function reader(t, url, options = {}) {
    const asked = [];
    const spy = (address, init) => {
        if ((init?.method ?? "GET") === "GET") asked.push(address.slice(url.length));
        return fetch(address, init);
    };
    const telltale = connect(url, { timing: SOON, tabs: false, fetch: sharedReads({ fetch: spy }), ...options });
    t.after(() => telltale.close());
    return { telltale, asked };
}

test("the client follows by shared reads, each by a URL of its own, and posts as ever", { timeout: 120_000 }, async t => {
    const { url } = await world(t);
    const { telltale, asked } = reader(t, url, { account: "alice" });
    await telltale.post("coffee-order/7", "start");
    const follow = telltale.follow("coffee-order/*", { view: "phone" });
    const picture = await until(follow, "live");
    assert.deepEqual(rows(picture).map(([key]) => key), ["coffee-order/7"]);
    assert.ok(follow.isCurrent);
    const { rev } = await telltale.post("coffee-order/7", "CONFIRMED");
    assert.deepEqual(rows([(await next(follow)).value]), [["coffee-order/7", rev]]);
    await telltale.post("coffee-order/7", "cancel");
    await telltale.dismiss("coffee-order/7");
    assert.equal((await until(follow, "gone")).at(-1).key, "coffee-order/7");
    const reads = asked.filter(path => path.includes("/v1/rows"));
    assert.ok(!asked.some(path => path.includes("/v1/stream")), asked.join());
    assert.equal(new Set(reads).size, reads.length, "no URL is asked for twice");
    assert.ok(reads.every(path => path.startsWith("/v1/rows?sub=coffee-order/*,phone&account=alice")), reads.join());
});

test("a client with a cursor goes on by shared reads, and is current at once", { timeout: 120_000 }, async t => {
    const { url } = await world(t);
    const { telltale, asked } = reader(t, url);
    await telltale.post("coffee-order/7", "start");
    const first = telltale.follow("coffee-order/*");
    await until(first, "live");
    const { cursor } = first;
    first.close();
    const { rev } = await telltale.post("coffee-order/7", "CONFIRMED");
    const again = telltale.follow("coffee-order/*", { cursor });
    assert.deepEqual(rows(await until(again, "live")), [["coffee-order/7", rev]]);
    assert.ok(asked.some(path => path === `/v1/rows?sub=coffee-order/*&from=${cursor}&wait=0`), asked.join());
});

const answer = (status, body) => response => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
};
const CURSOR = "0123456789abcdef:1:b0e4";

test("a daemon that is away leaves the rows as old, and the client goes on at its cursor", { timeout: 120_000 }, async t => {
    const row = { sub: 1, key: "a/1", rev: 1, row: { state: "on" } };
    const { url, requests } = await script(
        t,
        answer(200, { cursor: CURSOR, rows: [row], gone: [] }),
        answer(200, { cursor: `${CURSOR}.5`, rows: [], gone: [], lost: "daemon_unreachable" }),
        answer(200, { cursor: `${CURSOR}.7`, rows: [], gone: [] }),
        () => {});
    const { telltale } = reader(t, url);
    const follow = telltale.follow("a/*");
    await until(follow, "live");
    await until(follow, "lost");
    assert.equal(follow.rows.size, 1);
    await until(follow, "live");
    assert.deepEqual(requests.slice(0, 3).map(request => request.url), ["/v1/rows?sub=a/*", `/v1/rows?sub=a/*&from=${CURSOR}`, `/v1/rows?sub=a/*&from=${CURSOR}&wait=0`]);
});

test("what is no answer of a gateway ends the follower, before and after the first picture", { timeout: 120_000 }, async t => {
    const page = response => {
        response.writeHead(200, { "Content-Type": "text/html" });
        response.end("<title>Welcome to the hotel</title>");
    };
    for (const other of [page, answer(200, {}), answer(200, null), answer(200, { cursor: CURSOR, rows: 7, gone: [] })]) {
        for (const before of [[], [answer(200, { cursor: CURSOR, rows: [], gone: [] })]]) {
            const { url } = await script(t, ...before, other);
            const { telltale } = reader(t, url);
            await assert.rejects(until(telltale.follow("a/*"), "end"), { code: "no_gateway", isFinal: true });
        }
    }
});

test("a cache that gives one answer to every read is no source of rows, and is asked after pauses", { timeout: 120_000 }, async t => {
    const { url } = await script(t, answer(200, { cursor: CURSOR, rows: [], gone: [] }));
    const { telltale } = reader(t, url);
    const follow = telltale.follow("a/*");
    for (const type of ["live", "lost", "live", "lost"]) await until(follow, type);
});

test("an answer that is cut within is read again", { timeout: 120_000 }, async t => {
    const whole = JSON.stringify({ cursor: CURSOR, rows: [{ sub: 1, key: "a/1", rev: 1, row: {} }], gone: [] });
    const { url } = await script(
        t,
        response => {
            response.writeHead(200, { "Content-Type": "application/json", "Content-Length": whole.length });
            response.write(whole.slice(0, 20), () => response.destroy());
        },
        response => { response.writeHead(200, { "Content-Type": "application/json" }); response.end(whole.slice(0, 20)); },
        response => { response.writeHead(200, { "Content-Type": "application/json" }); response.end(whole); },
        () => {});
    const { telltale } = reader(t, url);
    assert.deepEqual(rows(await until(telltale.follow("a/*"), "live")), [["a/1", 1]]);
});

test("sixteen patterns are one read, and each goes on at its own cursor", { timeout: 120_000 }, async t => {
    const { url } = await world(t);
    const { telltale, asked } = reader(t, url);
    const follows = Array.from({ length: 16 }, (_, number) => telltale.follow(`coffee-order/${number}`));
    await Promise.all(follows.map(follow => until(follow, "live")));
    for (const [number, type] of [[15, "start"], [0, "start"], [15, "CONFIRMED"]]) {
        const { rev } = await telltale.post(`coffee-order/${number}`, type);
        assert.deepEqual(rows(await until(follows[number], "row")), [[`coffee-order/${number}`, rev]]);
    }
    const reads = asked.filter(path => path.includes("/v1/rows"));
    assert.ok(reads.every(path => path.split("sub=").length === 17), reads.join());
    assert.equal(new Set(reads).size, reads.length, "no URL is asked for twice");
});

test("a refusal of shared reads ends the follower", { timeout: 120_000 }, async t => {
    const { url } = await script(t, answer(403, { code: "forbidden", title: "No" }));
    const { telltale } = reader(t, url);
    await assert.rejects(until(telltale.follow("a/*"), "live"), { code: "forbidden" });
});
