// The list of behaviours and the tests name the same ids. The library is as small as it says.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { page } from "./support.js";

/** Of the modules that each page loads, as they are deployed, without comments and indentation. */
const MOST_BYTES = 8192;

test("each behaviour has a test and each test a behaviour", async () => {
    const text = await page("Protocols/Clients/behaviours.md");
    const listed = [...text.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, id]) => id);
    const others = [...text.matchAll(/^\| JavaScript.* Not its own: (.*) \|$/gm)].flatMap(([, words]) => [...words.matchAll(/`([a-z-]+)`/g)].map(([, id]) => id));
    const tests = await readFile(new URL("behaviours.test.js", import.meta.url), "utf8");
    const tested = new Set([...tests.matchAll(/^behaviour\("([a-z-]+)"/gm)].map(([, id]) => id));
    assert.deepEqual([...tested, ...others].sort(), listed.sort());
    assert.ok(others.length > 0);
});

test("the package has the version of the server", async () => {
    const { version } = JSON.parse(await page("Tools/clients/javascript/package.json"));
    assert.ok((await page("Sources/TelltaleWire/Release.swift")).includes(`version = "${version}"`));
});

test("all modules together are small", async t => {
    const folder = new URL("../src/", import.meta.url);
    const names = (await readdir(folder)).filter(name => name.endsWith(".js")).sort();
    const all = await Promise.all(names.map(name => readFile(new URL(name, folder), "utf8")));
    for (const [index, text] of all.entries()) assert.doesNotMatch(text, /from "[^.]|\beval\(|new Function|innerHTML/, names[index]);
    const texts = all.filter((_, index) => names[index] !== "shared.js");
    const bare = texts.join("").replace(/^ *(\/\/|\/\*\*|\*).*\n/gm, "").replace(/^ +|\n(?=\n)/gm, "");
    const [whole, small] = [texts.join(""), bare].map(text => gzipSync(text, { level: 9 }).length);
    t.diagnostic(`${small} bytes in gzip, ${whole} with comments`);
    assert.ok(small <= MOST_BYTES, `${small} bytes`);
});
