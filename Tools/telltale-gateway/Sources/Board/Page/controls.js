// Controls as tiles, and taps on them wherever they stand.

import { pagePath } from "./api.js";
import { el } from "./dom.js";
import { symbol } from "./symbols.js";
import { TelltaleError } from "./telltale.js";
import { color } from "./views.js";

const ENDS = {
    __proto__: null,
    reverted: { __proto__: null, timeout: "did not answer in time", failed: "failed", overridden: "stayed as it was", unavailable: "is not connected" },
};

/** Whether a row is a control's. */
export function isControl(row) { return Boolean(row?.control); }

/**
 * A control, as Control Center draws it.
 *
 * @param {{key: string, rev: number, row: object}} entry A row of a surface.
 */
export function tile({ key, rev, row }, placement = row.placement ?? "controlCenterMedium") {
    const isToggle = row.control === "toggle";
    const isBusy = row.phase === "pending" || row.phase === "performing";
    // A switch would claim to know; so it is two buttons, on and off.
    const isUnsure = isToggle && (row.shown === null || row.shown === undefined || row.assumed === true);
    const tint = color(row.tint) ?? "var(--blue)";
    const words = el("span.words", {},
        row.title ? el("span.name", { dir: "auto" }, row.title) : null,
        row.text ? el("span.value", { dir: "auto" }, row.text) : null,
        row.hint ? el("span.value.hint", { dir: "auto" }, row.hint) : null,
        row.status ? el("span.value.status", { dir: "auto" }, row.status) : null);
    const data = {
        testid: "control", key, entity: key, rev, control: row.control, phase: row.phase, placement,
        on: row.shown === true || null, busy: isBusy || null, dead: row.available === false || null, unsure: isUnsure || null,
    };
    const label = row.title ? null : `${key}${row.text ? `, ${row.text}` : ""}`;
    const isDead = row.available === false ? "true" : null;
    if (isUnsure) {
        const choice = wants => el("button.choice", {
            type: "button", "aria-disabled": isDead, "aria-label": `${row.title ?? key}: ${wants}`,
            data: { control: "toggle", key: `${key} ${wants}`, entity: key, rev, wants, dead: isDead },
        }, wants === "on" ? "On" : "Off");
        return el("div.tile-of-control", { data, vars: { tint }, role: "group", "aria-label": row.title ?? key },
            el("span.disc", {}, symbol(row.symbol)), words, el("span.choices", {}, choice("off"), choice("on")));
    }
    return el("button.tile-of-control", {
        type: "button", "aria-pressed": isToggle ? String(row.shown === true) : null, "aria-label": label, "aria-disabled": isDead,
        "aria-busy": isBusy ? "true" : null,
        data: { ...data, wants: isToggle ? (row.shown === true ? "off" : "on") : null }, vars: { tint },
    }, row.symbol ? el("span.disc", {}, symbol(row.symbol)) : null, words);
}

/** A tile with the page of its control. */
export function tileWithPage(entry) {
    return el("div.control-cell", { data: { key: entry.key } }, tile(entry), el("a.key", { href: pagePath(entry.key) }, entry.key));
}

/** What a person is told of a refusal. */
const WORDS = {
    __proto__: null, stale_rev: "it had changed meanwhile. This is how it is now; look, then tap again",
    unavailable: "nothing that could do it is connected", cooling: "wait a moment before the next press", auth_required: "unlock the device first",
};

/** The rev that a tap acts on: that of the drawn row, or for a control inside an activity that of now, if it looks the same. */
async function revOf(button, client) {
    if (button.dataset.rev) return Number(button.dataset.rev);
    const { rev, row } = await client.get(button.dataset.entity);
    const wasOn = button.dataset.on !== undefined;
    if (button.dataset.control === "toggle" && (row.shown === true) !== wasOn) {
        throw new TelltaleError("stale_rev", "the control has changed since it was drawn");
    }
    return rev;
}

/** What became of a tap, where that is not what was wanted; null otherwise. */
function endOf({ result, reason, message } = {}) {
    return !result || result === "confirmed" || result === "superseded" ? null : message || ENDS[result]?.[reason] || reason || result;
}

/** Sends what a tap on a control asks for. */
async function act(button, client, say) {
    const { control, entity, wants, dead } = button.dataset;
    const name = button.querySelector(".name")?.textContent || button.getAttribute("aria-label") || entity;
    if (dead) return say(`${name}: it cannot be tapped here`);
    try {
        const end = endOf(control === "toggle" ? await client.set(entity, wants === "on", { ifRev: await revOf(button, client) }) : await client.press(entity));
        if (end) say(`${name}: ${end}`);
    } catch (refusal) {
        if (!(refusal instanceof TelltaleError)) throw refusal;
        say(`${name}: ${WORDS[refusal.code] ?? refusal.message}`);
    }
}

/**
 * What a click does anywhere in a tree: one listener, for elements come and go.
 *
 * @param {function(string)} say Tells a person what became of a tap that failed.
 */
export function tapping(client, say) {
    return event => {
        const button = event.target.closest?.("button[data-control]");
        if (!button) return;
        event.preventDefault();
        act(button, client, say);
    };
}
