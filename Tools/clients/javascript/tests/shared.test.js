// The guide's page "In a web page" has a loop that reads answers which caches share. It shows what is there, as it changes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../src/telltale.js";
import { SOON, page, world } from "./support.js";

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
