// The steps that move a play, and the lines of its log.

import { countdown } from "./clock.js";
import { el } from "./dom.js";

/** The times that the page lets pass, in milliseconds. */
export const SPANS = [["+10 s", 10_000], ["+1 min", 60_000], ["+10 min", 600_000], ["+1 h", 3_600_000]];
/** The steps of a control, by its type. */
export const CONTROL_STEPS = {
    toggle: [["Set on", { set: "on" }], ["Set off", { set: "off" }], ["Done", { done: true }], ["Fails", { fail: "It is stuck" }],
        ["Reports on", { report: "on" }], ["Reports off", { report: "off" }], ["Provider goes", { provider: "gone" }], ["Provider comes", { provider: "there" }]],
    button: [["Press", { press: true }], ["Done", { done: true }], ["Fails", { fail: "It is stuck" }], ["Provider goes", { provider: "gone" }], ["Provider comes", { provider: "there" }]],
};

/** A span as a clock shows it: +1:05, +2:03:00. */
export function since(span) { return `+${countdown(span, 0)}`; }

/** A line of the log. */
export function logRow({ step, at, type, verdict, state, note, alert }, start) {
    return el("li.event", { data: { verdict, testid: "log-row", key: `${step} ${at} ${type}` } },
        el("time", {}, since(at - start)), el("span.mark", { "aria-hidden": "true" }),
        el("span.what", {}, el("b", { dir: "auto" }, type), " ", el("span.verdict", {}, verdict), state ? el("span.to", { dir: "auto" }, ` → ${state.replaceAll(",", ", ")}`) : null),
        note || alert ? el("span.tail", { dir: "auto" }, [note, alert ? `Alert: ${alert.title}${alert.body ? ` — ${alert.body}` : ""}` : null].filter(Boolean).join(" · ")) : null);
}
