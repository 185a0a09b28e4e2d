// The format of event streams, case by case as the web platform's tests have it (WPT, eventsource/format-*).

import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../src/sse.js";

const LONG = "x".repeat(2048);

for (const [name, text, ...events] of [
    ["bom", "\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3\n\n", "1", "3"],
    ["comments", `data:1\r:\0\n:\r\ndata:2\n:${LONG}\rdata:3\n:data:fail\r:${LONG}\ndata:4\n\n`, "1\n2\n3\n4"],
    ["data-before-final-empty-line", "retry:1000\ndata:test1\n\nid:test\ndata:test2", "test1"],
    ["field-data", "data:\n\ndata\ndata\n\ndata:test\n\n", "", "\n", "test"],
    ["field-event-empty", "event: \ndata:data\n\n", "data"],
    ["field-event", "event:test\ndata:x\n\ndata:x\n\n", ["test", "x"], "x"],
    ["field-id-null", "id:\0a\ndata:x\n\nid:b\ndata:y\n\n", "x", ["message", "y", "b"]],
    ["field-parsing", "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", "\0\n 2\n1\n3\n\n4"],
    ["field-unknown", "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\n\n", "test\n"],
    ["leading-space", "data:\ttest\rdata: \ndata:test\n\n", "\ttest\n\ntest"],
    ["newlines", "data:test\r\ndata\ndata:test\r\n\r", "test\n\ntest"],
    ["null-character", "data:\0\n\n\n\n", "\0"],
    ["utf-8", "data:ok…ü\u{1F3F3}\n\n", "ok…ü\u{1F3F3}"],
]) {
    test(`event streams: ${name}`, () => {
        const expected = events.map(event => {
            const [type, data, id = null] = Array.isArray(event) ? event : ["message", event];
            return { name: type, data, id };
        });
        const bytes = new TextEncoder().encode(text);
        for (const size of [1, 2, 3, 7, bytes.length]) {
            const [parser, decoder, found] = [new EventParser(), new TextDecoder(), []];
            for (let at = 0; at < bytes.length; at += size) found.push(...parser.push(decoder.decode(bytes.subarray(at, at + size), { stream: true })));
            assert.deepEqual(found, expected, `in pieces of ${size}`);
        }
    });
}
