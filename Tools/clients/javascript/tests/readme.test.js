// The examples of README.md print what stands below them.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { page, provider, world } from "./support.js";

const folder = fileURLToPath(new URL("../", import.meta.url));

test("the examples print what stands below them", { timeout: 120_000 }, async t => {
    const place = await world(t);
    // A light that is known, and whose device has gone.
    const device = await provider(t, place.daemonPort, "porch-light", "porch-light/front value=off");
    await device.close();
    const text = await page("Tools/clients/javascript/README.md");
    const examples = [...text.matchAll(/```js\n([^`]*)```\n\n((?: {4}[^\n]*\n)+)/g)];
    assert.equal(examples.length, 4);
    for (const [index, [, program, output]] of examples.entries()) {
        const file = `${folder}example-${process.pid}-${index}.mjs`;
        t.after(() => rm(file));
        await writeFile(file, program.replaceAll("http://127.0.0.1:7880", place.url));
        const { stdout } = await promisify(execFile)(process.execPath, globalThis.Deno ? ["run", "-A", "--no-check", file] : [file]);
        assert.equal(stdout, output.replace(/^ {4}/gm, ""), program);
    }
});
