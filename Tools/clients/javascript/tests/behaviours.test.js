// The list of behaviours: with a real daemon and gateway where those decide, and with a scripted gateway where it has to misbehave.

import assert from "node:assert/strict";
import { connect } from "../src/telltale.js";
import { backOff } from "../src/gateway.js";
import { EventParser } from "../src/sse.js";
import { SOON, behaviour, cursor, eventually, hello, json, live, next, problem, provider, proxy, row, rows, script, send, stream, until, world } from "./support.js";

const client = (t, url, options = {}) => {
    const telltale = connect(url, { ...options, timing: { ...SOON, ...options.timing } });
    t.after(() => telltale.close());
    return telltale;
};

behaviour("any-cut", "each split of a stream gives the same events", () => {
    const text = "\uFEFF".slice(1) + ": a comment\r\nretry: 5\n\nevent: row\nid: 1\ndata: {\"a\":\ndata:1}\r\n\r\nid\n\ndata\r\rdata: ü\n\nevent: gone\n\n";
    const whole = new EventParser().push(text);
    assert.deepEqual(whole, [
        { name: "row", data: '{"a":\n1}', id: "1" }, { name: "message", data: "", id: null }, { name: "message", data: "ü", id: null },
    ]);
    for (let cut = 0; cut <= text.length; cut++) {
        for (let next = cut; next <= text.length; next += 7) {
            const parser = new EventParser();
            assert.deepEqual([text.slice(0, cut), text.slice(cut, next), text.slice(next)].flatMap(piece => parser.push(piece)), whole);
        }
    }
});

behaviour("torn-line", "an event that is cut comes whole on the next connection", async t => {
    const { url } = await script(t,
        response => { stream(hello(), live(1))(response); response.write('event: row\nid: x\ndata: {"sub":1,"key":"a/1","rev":2,"row":{}}\n', () => response.destroy()); },
        stream(hello(), row("a/1", 2, cursor(2)), live(2)));
    const follow = client(t, url).follow("a/*");
    assert.deepEqual(rows(await until(follow, "lost")), []);
    assert.deepEqual(rows(await until(follow, "live")), [["a/1", 2]]);
});

behaviour("unknown-words", "events and members to come mean nothing", async t => {
    const { url } = await script(t, stream(hello(), ["sparkle", { sub: 1, glow: 1 }], ["glow", {}], ["row", { sub: 1, key: "a/1", rev: 1, row: {}, snap: true, glow: 2 }], live(1)));
    const follow = client(t, url).follow("a/*");
    assert.deepEqual(rows(await until(follow, "live")), [["a/1", 1]]);
});

behaviour("other-version", "what is no gateway is refused and not asked again", async t => {
    for (const answer of [response => { response.writeHead(200, { "Content-Type": "text/html" }); response.end("<html>"); }, problem(502, "version_unsupported")]) {
        const { url, requests } = await script(t, answer);
        const telltale = client(t, url);
        await assert.rejects(until(telltale.follow("a/*"), "live"), { name: "TelltaleError", isFinal: true });
        await assert.rejects(telltale.get("a/1"), { isFinal: true });
        assert.equal(requests.length, 2);
    }
});

behaviour("refused-before-the-wire", "what the grammar does not allow is not sent", async t => {
    const { url, requests } = await script(t, json({}));
    const telltale = client(t, url);
    const wrong = { name: "TelltaleError", code: "invalid" };
    for (const key of ["a", "a/b/c", "a b/c", "a/\n", "", "a/*", null, undefined, `a/${"x".repeat(65)}`]) {
        await assert.rejects(telltale.post(key, "start"), wrong);
        await assert.rejects(telltale.set(key, true), wrong);
    }
    for (const pattern of ["a", "*/a", "a/b*", "a/1,phone", ""]) assert.throws(() => telltale.follow(pattern), wrong);
    assert.throws(() => telltale.follow("a/*", { view: "a b" }), wrong);
    assert.throws(() => telltale.follow("a/*", { account: "a b" }), wrong);
    assert.throws(() => telltale.follow("a/*", { traits: { luminance: "a\nb" } }), wrong);
    await assert.rejects(telltale.post("a/1", "two words"), wrong);
    await assert.rejects(telltale.post("a/1", "start", { ver: 1.5 }), wrong);
    await assert.rejects(telltale.post("a/1", "start", { at: -1 }), wrong);
    await assert.rejects(telltale.post("a/1", "start", { eid: "a\r\nb: c" }), wrong);
    await assert.rejects(telltale.post("a/1", "start", { accounts: ["a b"] }), wrong);
    await assert.rejects(telltale.set("a/1", "on"), wrong);
    assert.equal(requests.length, 0);
});

behaviour("too-long", "an event that is too long is refused here", async t => {
    const { url, requests } = await script(t, json({ verdict: "applied" }));
    const telltale = client(t, url);
    await assert.rejects(telltale.post("a/1", "start", { content: { text: "ü".repeat(32_000) } }), { code: "invalid", message: /64000 bytes/ });
    assert.equal((await telltale.post("a/1", "start", { content: { text: "x".repeat(60_000) } })).verdict, "applied");
    assert.equal(requests.length, 1);
});

behaviour("reconnect", "an event whose answer is lost takes effect once", async t => {
    const { url } = await world(t);
    const between = await proxy(t, url);
    const telltale = client(t, between.url);
    between.cutBefore("HTTP/1.1 200");
    const answer = await telltale.post("coffee-order/1", "start");
    assert.equal(answer.verdict, "duplicate");
    assert.equal((await telltale.list("coffee-order/*")).length, 1);
});

behaviour("reconnect", "requests and followers wait for a gateway that starts again", async t => {
    const place = await world(t);
    const telltale = client(t, place.url);
    const follow = telltale.follow("coffee-order/*");
    await until(follow, "live");
    await place.gateway.stop("SIGKILL");
    await until(follow, "lost");
    assert.equal(follow.isCurrent, false);
    const posted = telltale.post("coffee-order/1", "start");
    await place.again();
    const { rev } = await posted;
    const seen = rows(await until(follow, "live"));
    assert.deepEqual(seen.length ? seen : rows(await until(follow, "row")), [["coffee-order/1", rev]]);
    assert.equal(follow.isCurrent, true);
});

behaviour("reconnect", "without a gateway the caller is told after its limit, with the key to go on with", async t => {
    const { url } = await script(t, response => response.destroy());
    await assert.rejects(client(t, url).post("a/1", "start", { eid: "e1", timeout: 100 }), error => {
        // On a machine that stands still no attempt may have ended.
        return error.code === "timed_out" && error.eid === "e1" && (!error.cause || /does not answer/.test(error.cause.message));
    });
});

behaviour("answer-begins-again", "a list that is cut is whole", async t => {
    const entities = [1, 2].map(rev => ({ key: `a/${rev}`, rev, row: {} }));
    const { url, requests } = await script(t,
        response => { response.writeHead(200, { "Content-Type": "application/json" }); response.write('{"entities":[{"key":"a/1"', () => response.destroy()); },
        json({ entities, count: 2 }));
    assert.deepEqual(await client(t, url).list("a/*"), entities);
    assert.equal(requests.length, 2);
});

behaviour("back-off", "the pause doubles from 0.1 s to 10 s, at a random point of the upper half", () => {
    const limits = { first: 100, longest: 10_000 };
    assert.deepEqual([0, 1, 2, 6, 7, 60].map(attempt => backOff(attempt, limits, () => 0)), [50, 100, 200, 3200, 5000, 5000]);
    assert.deepEqual([0, 1, 2, 6, 7, 60].map(attempt => backOff(attempt, limits, () => 1)), [100, 200, 400, 6400, 10_000, 10_000]);
});

behaviour("next-server", "behind an address that does not answer comes the next one", async t => {
    const gone = await script(t, response => response.destroy());
    const { url, requests } = await script(t, stream(hello(), live(1)));
    const follow = client(t, [gone.url, url]).follow("a/*");
    await until(follow, "live");
    assert.deepEqual([gone.requests.length, requests.length], [1, 1]);
});

behaviour("farewell", "after a bye the pause is the one that it names", async t => {
    const never = { first: 1e9, longest: 1e9 };
    const { url, requests } = await script(t,
        stream(hello(), live(1), ["bye", { code: "shutting_down", wait: 3 }]), problem(503, "busy", { "Retry-After": "0.003" }), stream(hello(), live(1)));
    const follow = client(t, url, { timing: never }).follow("a/*");
    await until(follow, "lost");
    await until(follow, "live");
    assert.equal(requests.length, 3);
});

behaviour("silence", "a connection that says nothing is given up", async t => {
    const { url, requests } = await script(t, stream(hello(), live(1)), stream(hello(), live(1)));
    const follow = client(t, url, { timing: { silence: 50 } }).follow("a/*");
    await until(follow, "live");
    await until(follow, "lost");
    await requests[0].ended;
    await until(follow, "live");
});

behaviour("resume", "a follower that was away gets what changed, once", async t => {
    const { url } = await world(t);
    const between = await proxy(t, url);
    const shop = client(t, url);
    for (const number of [1, 2, 3]) await shop.post(`coffee-order/${number}`, "start");
    const follow = client(t, between.url, { timing: { first: 50, longest: 50 } }).follow("coffee-order/*");
    assert.deepEqual(rows(await until(follow, "live")).map(([key]) => key), ["coffee-order/1", "coffee-order/2", "coffee-order/3"]);
    between.cut();
    await until(follow, "lost");
    const confirmed = await shop.post("coffee-order/1", "CONFIRMED");
    const ended = await shop.post("coffee-order/2", "end", { data: { "dismissal-date": 0 } });
    // On a fast machine the connection is there before the second change.
    let away = [];
    while (away.length < 2) away = away.concat(rows([(await next(follow)).value]));
    assert.deepEqual(away, [["coffee-order/1", confirmed.rev], ["coffee-order/2", ended.rev]]);
    assert.deepEqual([...follow.rows.keys()], ["coffee-order/1", "coffee-order/3"]);
    assert.match(between.asked.at(-1), /lastEventID=[0-9a-f]{16}/);
});

behaviour("resume-elsewhere", "a stored cursor resumes behind its change", async t => {
    const { url } = await world(t);
    const telltale = client(t, url);
    for (const number of [1, 2]) await telltale.post(`coffee-order/${number}`, "start");
    const first = telltale.follow("coffee-order/*");
    assert.equal(first.cursor, null);
    await until(first, "live");
    await telltale.post("coffee-order/1", "CONFIRMED");
    await until(first, "row");
    first.close();
    const later = await telltale.post("coffee-order/2", "CONFIRMED");
    const second = client(t, url).follow("coffee-order/*", { cursor: first.cursor });
    assert.deepEqual(rows(await until(second, "live")), [["coffee-order/2", later.rev]]);
});

behaviour("reset", "another history is told, and old keys go", async t => {
    const other = "fedcba9876543210";
    const { url, requests } = await script(t,
        response => { stream(hello(), row("a/1", 8), row("a/2", 9), live(9))(response); setImmediate(() => response.end()); },
        stream(hello(other), ["reset", { sub: 1, why: "epoch" }], row("a/2", 1), ["live", { sub: 1 }, `${other}:1:b0e4`]));
    const follow = client(t, url).follow("a/*");
    await until(follow, "lost");
    assert.equal((await until(follow, "reset")).at(-1).why, "epoch");
    const changes = await until(follow, "live");
    assert.deepEqual(changes.map(({ type, key, why }) => [type, key, why]), [["row", "a/2", undefined], ["gone", "a/1", "reset"], ["live", undefined, undefined]]);
    assert.deepEqual([...follow.rows.keys()], ["a/2"]);
    assert.match(decodeURIComponent(requests[1].url), new RegExp(`lastEventID=${cursor(9)}`));
});

behaviour("cut-snapshot", "a picture that is cut comes again as a whole", async t => {
    const { url, requests } = await script(t,
        response => { stream(hello(), row("a/1", 1), row("a/2", 2))(response); setImmediate(() => response.destroy()); },
        stream(hello(), row("a/2", 2), row("a/3", 3), live(3)));
    const follow = client(t, url).follow("a/*");
    await until(follow, "live");
    assert.deepEqual([...follow.rows.keys()], ["a/2", "a/3"]);
    assert.doesNotMatch(requests[1].url, /lastEventID/);
});

behaviour("cut-snapshot", "the picture after a reset is no place to resume from", async t => {
    const { url, requests } = await script(t,
        response => { stream(hello(), live(5), ["reset", { sub: 1, why: "slow" }], row("a/1", 1))(response); setImmediate(() => response.destroy()); },
        stream(hello(), row("a/1", 1), live(3)));
    const follow = client(t, url).follow("a/*");
    await until(follow, "lost");
    await until(follow, "live");
    assert.doesNotMatch(requests[1].url, /lastEventID/);
});

behaviour("rev-goes-back", "an older row ends the connection and is not seen", async t => {
    const { url, requests } = await script(t,
        stream(hello(), row("a/1", 7), live(7), row("a/1", 6, cursor(8), { old: true })), stream(hello(), row("a/1", 9, cursor(9)), live(9)));
    const follow = client(t, url).follow("a/*");
    assert.deepEqual(rows(await until(follow, "lost")), [["a/1", 7]]);
    assert.deepEqual(rows(await until(follow, "live")), [["a/1", 9]]);
    assert.match(decodeURIComponent(requests[1].url), new RegExp(`lastEventID=${cursor(7)}`));
});

behaviour("slow-reader", "a reader that does not take its changes gets the newest rows, and the count of the others", async t => {
    const count = 3000;
    const events = Array.from({ length: count }, (_, index) => row(`a/${index % 3}`, index + 2, cursor(index + 2)));
    const alerts = Array.from({ length: 600 }, (_, index) => ["alert", { sub: 1, key: "b/1", rev: 1, title: String(index) }]);
    const { url } = await script(t, stream(hello(), live(1), ...alerts.map(([, data]) => ["alert", { ...data, key: "a/9" }]), ...events, ["reset", { sub: 1, why: "slow" }]));
    const telltale = client(t, url);
    const follow = telltale.follow("a/*");
    await new Promise(done => telltale.follow("a/*", {}, change => { if (change.type === "reset") done(); }));
    const changes = await until(follow, "reset");
    const seen = changes.filter(({ type }) => type === "row");
    assert.deepEqual(seen.map(({ rev }) => rev), [count - 1, count, count + 1]);
    assert.equal(seen.reduce((sum, { skip = 0 }) => sum + 1 + skip, 0), count);
    assert.deepEqual(changes.filter(({ type }) => type === "alert").map(({ title }) => title), Array.from({ length: changes.length - 5 }, (_, index) => String(605 - changes.length + index)));
    assert.ok(changes.length < 300);
    assert.equal(follow.rows.get("a/0").rev, count - 1);
});

behaviour("duplicate-eid", "the same eid takes effect once", async t => {
    const { url } = await world(t);
    const [telltale, again] = [client(t, url), client(t, url)];
    const first = await telltale.post("coffee-order/1", "start", { eid: "e1", content: { eta: 5 } });
    const second = await again.post("coffee-order/1", "start", { eid: "e1", content: { eta: 5 } });
    assert.deepEqual([first.verdict, second.verdict, second.rev], ["applied", "duplicate", first.rev]);
    await assert.rejects(again.post("coffee-order/1", "CONFIRMED", { eid: "e1" }), { code: "dup_mismatch", status: 422, eid: "e1" });
});

behaviour("stale-tap", "a tap on an old row does nothing", async t => {
    const { url, daemonPort } = await world(t);
    const telltale = client(t, url);
    const device = await provider(t, daemonPort, "porch-light", "porch-light/front value=off");
    const { rev } = await eventually(async () => (await telltale.list("porch-light/*")).find(entity => entity.row.value === false));
    const tapped = telltale.set("porch-light/front", true, { ifRev: rev });
    device.answer("DONE", await device.next());
    assert.equal((await tapped).result, "confirmed");
    const now = (await telltale.get("porch-light/front")).rev;
    await assert.rejects(telltale.set("porch-light/front", false, { ifRev: rev }), { code: "stale_rev", want: rev, have: now });
    assert.equal((await telltale.get("porch-light/front")).row.value, true);
});

behaviour("revoked-token", "a follower whose token is worth nothing any more ends, and no error shows it", async t => {
    const { url } = await script(t, problem(401, "auth_required"),
        response => { stream(hello(), live(1), ["bye", { code: "auth_revoked", wait: 1 }])(response); }, problem(401, "auth_failed"));
    const follow = client(t, url, { token: "tt_secret" }).follow("a/*");
    await until(follow, "live");
    await assert.rejects(until(follow, "row"), error => error.code === "auth_failed" && error.isFinal && !JSON.stringify({ ...error, text: String(error.stack) }).includes("secret"));
    assert.equal((await next(follow)).done, true);
});

behaviour("needless-secret", "a token is sent to a gateway that asks for one alone", async t => {
    const open = await script(t, json({ key: "a/1", rev: 1, row: {} }));
    const telltale = client(t, open.url, { token: () => assert.fail("it is not wanted") });
    await telltale.get("a/1");
    await telltale.get("a/1");
    assert.deepEqual(open.requests.map(({ headers }) => headers.authorization), [undefined, undefined]);
    const closed = await script(t, problem(401, "auth_required"), json({ key: "a/1", rev: 1, row: {} }));
    const known = client(t, closed.url, { token: () => "tt_1" });
    await known.get("a/1");
    await known.get("a/1");
    assert.deepEqual(closed.requests.map(({ headers }) => headers.authorization), [undefined, "Bearer tt_1", "Bearer tt_1"]);
});
