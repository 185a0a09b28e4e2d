// Controls as tiles, and taps on them wherever they stand.

import { Refusal, ask, entityPath, pagePath } from "./api.js";
import { el, say } from "./dom.js";
import { symbol } from "./symbols.js";
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

/** The rev that a tap acts on: that of the drawn row, or for a control inside an activity that of now, if it looks the same. */
async function revOf(button) {
    if (button.dataset.rev) return Number(button.dataset.rev);
    const { data } = await ask("GET", entityPath(button.dataset.entity));
    const wasOn = button.dataset.on !== undefined;
    if (button.dataset.control === "toggle" && (data.row.shown === true) !== wasOn) {
        throw new Refusal(412, { code: "stale_rev", title: "the control has changed since it was drawn" });
    }
    return data.rev;
}

function tellEnd(name, end) {
    if (!end?.result || end.result === "confirmed") return;
    if (end.result === "superseded") return;
    const why = end.message || ENDS[end.result]?.[end.reason] || end.reason || end.result;
    say(`${name}: ${why}`, "bad");
}

/** Sends what a tap on a control asks for, and says what became of it where that is not what was wanted. */
async function act(button) {
    const { control, entity, wants, dead } = button.dataset;
    const name = button.querySelector(".name")?.textContent || button.getAttribute("aria-label") || entity;
    if (dead) return say(`${name}: it cannot be tapped here`, "bad");
    const headers = { wait: 25 };
    try {
        if (control === "toggle") {
            const { data } = await ask("PUT", `${entityPath(entity)}/value`, { body: wants, ifMatch: await revOf(button), ...headers });
            tellEnd(name, data);
        } else {
            const { data } = await ask("POST", `${entityPath(entity)}/press`, headers);
            tellEnd(name, data);
        }
    } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
        const words = {
            __proto__: null, stale_rev: "it had changed meanwhile. This is how it is now; look, then tap again",
            unavailable: "nothing that could do it is connected", cooling: "wait a moment before the next press",
            auth_required: "unlock the device first",
        };
        say(`${name}: ${words[refusal.code] ?? refusal.message}`, "bad");
    }
}

/** A click anywhere on the page: one listener, for elements come and go. */
export function onTap(event) {
    const button = event.target.closest?.("button[data-control]");
    if (!button) return;
    event.preventDefault();
    act(button);
}
