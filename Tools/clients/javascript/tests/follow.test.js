// What is followed, by which subscriptions; pending taps; pictures that change at dates; the page around the client.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../src/telltale.js";
import { plan } from "../src/follow.js";
import { SOON, cursor, eventually, hello, json, live, problem, provider, row, rows, script, send, stream, until, next, world } from "./support.js";

const keys = (count, kind = "a") => Array.from({ length: count }, (_, index) => `${kind}/${index},phone`);

for (const [what, wanted, subscriptions] of [
    ["each as it is", ["a/1", "a/1,phone", "b/*"], ["a/1", "a/1,phone", "b/*"]],
    ["within its kind", ["a/1,phone", "a/*,phone", "a/1"], ["a/*,phone", "a/1"]],
    ["within everything", ["a/1", "*", "b/*", "b/*,phone,lockScreen"], ["*", "b/*,phone,lockScreen"]],
    ["as many as there may be", keys(16), keys(16)],
    ["too many keys as their kinds", [...keys(16), "b/1,phone", "c/1"], ["a/*,phone", "b/*,phone", "c/*"]],
    ["too many kinds", Array.from({ length: 17 }, (_, index) => `k${index}/*`), null],
]) {
    test(`subscriptions: ${what}`, () => {
        const chosen = plan(wanted);
        assert.deepEqual(chosen && [...new Set(chosen.values())], subscriptions);
    });
}

const client = (t, url, options = {}) => {
    const telltale = connect(url, { ...options, timing: { ...SOON, ...options.timing } });
    t.after(() => telltale.close());
    return telltale;
};

/** The subscriptions and cursors of a request. */
const asked = ({ url }) => {
    const query = new URL(url, "http://x").searchParams;
    return [query.getAll("sub"), query.get("lastEventID")];
};

test("two hundred cards are one request", async t => {
    const { url, requests } = await script(t, stream(hello(), row("a/7", 1), live(1)));
    const telltale = client(t, url);
    const follows = keys(200).map(id => telltale.follow(id.split(",")[0], { view: "phone" }));
    const changes = await Promise.all(follows.map(follow => until(follow, "live")));
    assert.deepEqual(requests.map(asked), [[["a/*,phone"], null]]);
    assert.deepEqual(changes.map(rows).filter(all => all.length), [[["a/7", 1]]]);
});

test("who comes later is told what is there, and what was followed before resumes", async t => {
    const { url, requests } = await script(t, stream(hello(), row("a/1", 1), live(1)),
        stream(hello(), ["row", { sub: 2, key: "b/1", rev: 2, row: {}, snap: true }], ["live", { sub: 1 }, `${cursor(2)}~-`], ["live", { sub: 2 }, `${cursor(2)}~${cursor(2)}`]));
    const telltale = client(t, url);
    const first = telltale.follow("a/*");
    await until(first, "live");
    const within = telltale.follow("a/1");
    assert.deepEqual(rows(await until(within, "live")), [["a/1", 1]]);
    assert.equal(requests.length, 1);
    const other = telltale.follow("b/*");
    assert.deepEqual(rows(await until(other, "live")), [["b/1", 2]]);
    assert.deepEqual(asked(requests[1]), [["a/*", "b/*"], `${cursor(1)}~-`]);
    await requests[0].ended;
    assert.equal(first.isCurrent, true);
    assert.deepEqual([first.cursor, other.cursor], [cursor(1), cursor(2)]);
});

test("the connection ends with the last follower", async t => {
    const { url, requests } = await script(t, stream(hello(), live(1)));
    const telltale = client(t, url);
    const follows = [telltale.follow("a/*"), telltale.follow("a/1", () => {})];
    await until(follows[0], "live");
    for (const follow of follows) follow.close();
    await requests[0].ended;
    assert.equal(requests.length, 1);
    assert.equal((await next(follows[0])).done, true);
});

test("a page follows as two devices, and not as three", async t => {
    const { url, requests } = await script(t, stream(hello(), live(1)));
    const telltale = client(t, url, { account: "alice" });
    const follows = [telltale.follow("a/*"), telltale.follow("a/*", { surface: "watch", traits: { luminance: "reduced" } })];
    await Promise.all(follows.map(follow => until(follow, "live")));
    assert.throws(() => telltale.follow("a/*", { account: "bob" }), { code: "invalid", message: /two devices.*bob/ });
    assert.deepEqual(requests.map(one => one.url).sort(), [
        "/v1/stream?account=alice&sub=a%2F*", "/v1/stream?surface=watch&account=alice&trait=luminance%3Areduced&sub=a%2F*"]);
    follows[0].close();
    await until(telltale.follow("a/*", { account: "bob" }), "live");
});

test("a refusal ends each follower, and a later one asks again", async t => {
    const { url, requests } = await script(t, problem(403, "forbidden"), stream(hello(), live(1)));
    const telltale = client(t, url);
    const told = [];
    const called = new Promise(done => telltale.follow("a/1", change => { told.push(change.type, change.error.code); done(); }));
    await assert.rejects(until(telltale.follow("a/*"), "live"), { code: "forbidden", status: 403 });
    await called;
    assert.deepEqual(told, ["end", "forbidden"]);
    await until(telltale.follow("a/*"), "live");
    assert.equal(requests.length, 2);
});

test("a token is renewed when it has ended, once for all", async t => {
    let valid = "t1", asks = 0;
    const { url, requests } = await script(t, (response, request) => {
        if (request.headers.authorization !== `Bearer ${valid}`) return problem(401, "auth_expired")(response);
        if (!request.url.startsWith("/v1/stream")) return json({ key: "a/1", rev: 1, row: {} })(response);
        stream(hello(), live(1))(response);
        request.response = response;
    });
    const telltale = client(t, url, { token: async () => { asks += 1; return valid; } });
    const follow = telltale.follow("a/*");
    await Promise.all([until(follow, "live"), telltale.get("a/1"), telltale.get("a/2")]);
    assert.equal(asks, 1);
    valid = "t2";
    send(requests.find(({ response }) => response).response, "bye", { code: "auth_expired", wait: 1 });
    await until(follow, "live");
    await telltale.get("a/1");
    assert.equal(asks, 2);
});

test("a tap is shown as wanted at once, and as it is in the end", async t => {
    const toggle = (rev, shown, phase = "settled", id = cursor(rev)) => row("porch-light/front", rev, id, { control: "toggle", shown, phase });
    let events, tapped;
    const { url, requests } = await script(t,
        response => { stream(hello(), toggle(1, false, "settled", null), live(1))(response); events = response; }, response => { tapped = response; });
    const telltale = client(t, url);
    const follow = telltale.follow("porch-light/*");
    await until(follow, "live");
    const shown = async () => { const { row } = (await until(follow, "row")).at(-1); return [row.shown, row.phase]; };
    const answer = telltale.set("porch-light/front", true, { ifRev: 1 });
    assert.deepEqual(await shown(), [true, "pending"]);
    await eventually(() => tapped);
    assert.deepEqual([requests[1].method, requests[1].url.split("?")[0], requests[1].headers["if-match"], requests[1].headers.prefer, requests[1].body],
        ["PUT", "/v1/entities/porch-light/front/value", '"1"', "wait=25", "on"]);
    send(events, ...toggle(2, false, "performing"));
    assert.deepEqual(await shown(), [true, "performing"]);
    // The answer comes before the row that it speaks of.
    json({ op: "1", result: "confirmed", rev: 3 })(tapped);
    assert.equal((await answer).result, "confirmed");
    assert.deepEqual(await shown(), [true, "performing"]);
    send(events, ...toggle(3, true));
    assert.deepEqual(await shown(), [true, "settled"]);
    send(events, ...toggle(4, false));
    assert.deepEqual(await shown(), [false, "settled"]);
});

test("a program outlives its daemon and its gateway, and taps a lamp", { timeout: 120_000 }, async t => {
    const place = await world(t);
    const telltale = client(t, place.url);
    await telltale.post("coffee-order/1", "start");
    const order = telltale.follow("coffee-order/*", { view: "watch" }), lamp = telltale.follow("porch-light/*");
    await Promise.all([order, lamp].map(follow => until(follow, "live")));
    await Promise.all([place.daemon, place.gateway].map(program => program.stop("SIGKILL")));
    await Promise.all([order, lamp].map(follow => until(follow, "lost")));
    assert.deepEqual([order.isCurrent, order.rows.get("coffee-order/1").row.view.title], [false, "Order placed"]);
    await place.daemonAgain();
    await place.again();
    await Promise.all([order, lamp].map(follow => until(follow, "live")));
    const { rev } = await telltale.post("coffee-order/1", "CONFIRMED");
    assert.deepEqual(rows(await until(order, "row")), [["coffee-order/1", rev]]);
    const device = await provider(t, place.daemonPort, "porch-light", "porch-light/front value=off");
    const settled = async shown => {
        for (;;) {
            const { row: body } = (await until(lamp, "row")).at(-1);
            if (body.shown === shown && body.phase === "settled") return;
        }
    };
    await settled(false);
    const tapped = telltale.set("porch-light/front", true);
    device.answer("DONE", await device.next());
    assert.equal((await tapped).result, "confirmed");
    await settled(true);
});

test("a tap that is refused is taken back", async t => {
    const { url } = await script(t, stream(hello(), row("porch-light/front", 1, null, { control: "toggle", shown: false, phase: "settled" }), live(1)), problem(409, "unavailable"));
    const telltale = client(t, url);
    const follow = telltale.follow("porch-light/*");
    await until(follow, "live");
    await assert.rejects(telltale.set("porch-light/front", true), { code: "unavailable" });
    const { row: last } = (await until(follow, "row")).at(-1);
    assert.deepEqual([last.shown, last.phase], [false, "settled"]);
});

test("a press of a button that cools down is refused at once", async t => {
    const { url, requests } = await script(t, problem(429, "cooling", { "Retry-After": "60" }));
    await assert.rejects(client(t, url).press("log-coffee/espresso"), { code: "cooling" });
    assert.equal(requests.length, 1);
});

test("a widget's picture changes at its dates without a message", async t => {
    const now = Date.now();
    const entries = [-1000, 40, 80].map((after, index) => ({ date: now + after, view: { title: String(index) } }));
    // The server's clock is a day ahead, and decides.
    const ahead = entries.map(entry => ({ ...entry, date: entry.date + 86_400_000 }));
    const { url } = await script(t, stream(["hello", { epoch: "e", now: now + 86_400_000 }], row("sales/1", 1, null, { entries: ahead }), live(1)));
    const { entryAt } = await import("../src/telltale.js");
    const telltale = client(t, url);
    const follow = telltale.follow("sales/*");
    await until(follow, "live");
    const titles = [];
    while (titles.at(-1) !== "2") {
        const { row: body, why } = (await until(follow, "row")).at(-1);
        assert.equal(why, "date");
        titles.push(entryAt(body, telltale.now()).view.title);
    }
    assert.ok(titles.length <= 2);
});

test("a date that the server's clock has passed is not waited for", async t => {
    const now = Date.now();
    let events;
    const { url } = await script(t, response => {
        stream(["hello", { epoch: "e", now }], row("sales/1", 1, null, { entries: [{ date: now + 3_600_000, view: {} }] }), live(1))(response);
        events = response;
    });
    const follow = client(t, url).follow("sales/*");
    await until(follow, "live");
    send(events, "mark", { now: now + 3_600_001 });
    assert.equal((await until(follow, "row")).at(-1).why, "date");
});

test("a hidden page lets go, and is current again by one request; an online one asks at once", async t => {
    const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
    const bus = new EventTarget();
    const before = Object.getOwnPropertyDescriptors({ document: undefined, addEventListener: globalThis.addEventListener });
    Object.assign(globalThis, { document: page, addEventListener: bus.addEventListener.bind(bus) });
    t.after(() => { delete globalThis.document; Object.defineProperty(globalThis, "addEventListener", before.addEventListener); });
    const { url, requests } = await script(t, stream(hello(), row("a/1", 1), live(1)), stream(hello(), live(1)),
        response => { stream(hello(), live(1))(response); setImmediate(() => response.destroy()); }, stream(hello(), live(1)));
    const telltale = client(t, url, { tabs: false, timing: { hidden: 1, first: 1e9, longest: 1e9 } });
    const follow = telltale.follow("a/*");
    await until(follow, "live");
    const look = state => { page.visibilityState = state; page.dispatchEvent(new Event("visibilitychange")); };
    look("hidden");
    await until(follow, "lost");
    await requests[0].ended;
    assert.deepEqual([follow.isCurrent, follow.rows.size, requests.length], [false, 1, 1]);
    look("visible");
    bus.dispatchEvent(new Event("online"));
    await until(follow, "live");
    assert.equal(requests.length, 2);
    assert.equal(asked(requests[1])[1], cursor(1));
    // Nothing is asked while the connection is good.
    look("visible");
    bus.dispatchEvent(new Event("offline"));
    await until(follow, "lost");
    bus.dispatchEvent(new Event("online"));
    await until(follow, "live");
    await until(follow, "lost");
    bus.dispatchEvent(new Event("online"));
    await until(follow, "live");
    assert.equal(requests.length, 4);
});
