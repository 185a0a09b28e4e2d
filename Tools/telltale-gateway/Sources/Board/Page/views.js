// One presentation of an activity, as a surface draws it, from the `view` of its row. Each text of the row is drawn as it
// is, and no other text is: the tests compare the two.

import { clock, countdown } from "./clock.js";
import { el } from "./dom.js";
import { symbol } from "./symbols.js";

/** The colors that a kind may name as its tint. */
const TINTS = new Set([
    "red", "orange", "yellow", "green", "mint", "teal", "cyan", "blue", "indigo", "purple", "pink", "brown", "gray",
]);
const ACCENTS = ["orange", "blue", "green", "indigo", "pink", "teal", "red", "purple"];

/** A color of CSS for a tint, or null for one that is not known. */
export function color(tint) {
    if (tint === "grey" || tint === "secondary") return "var(--gray)";
    if (TINTS.has(tint)) return `var(--${tint})`;
    return /^#[0-9a-fA-F]{6}$/.test(tint ?? "") ? tint : null;
}

/** The color of an app whose kind names none: always the same one. */
export function accent(app) {
    let hash = 7;
    for (const character of String(app ?? "")) hash = (hash * 84 + character.codePointAt(0)) % 65_521;
    return `var(--${ACCENTS[hash % ACCENTS.length]})`;
}

/** Members of a view that have a place of their own. */
const PARTS = new Set(["symbol", "text", "title", "subtitle", "tint", "timer", "progress", "buttons"]);

function text(value) {
    if (value === null || value === undefined || value === "") return null;
    return typeof value === "string" ? value : JSON.stringify(value);
}

/** How much room a text takes: a character of East Asia is as wide as two. CSS has no way to ask. */
export function length(value) {
    const count = [...String(value ?? "")].reduce((sum, one) => sum + (/[\u1100-\u115F\u2E80-\uFFE6]|\p{Extended_Pictographic}/u.test(one) ? 2 : 1), 0);
    return count <= 7 ? "xs" : count <= 12 ? "s" : count <= 18 ? "m" : count <= 30 ? "l" : "xl";
}

/** A text as a line of its own; null where there is none. */
export function line(name, value) {
    const string = text(value);
    return string === null ? null : el(`div.${name}`, { dir: "auto", data: { length: length(string) } }, string);
}

/** A date that is counted down to. */
export function timer(date) {
    if (typeof date !== "number") return null;
    return el("div.timer", { data: { timer: date, length: date - clock.now() > 3_600_000 ? "s" : "xs" } },
        countdown(date, clock.now()));
}

function extras(view) {
    return Object.entries(view).filter(([name, value]) => !PARTS.has(name) && typeof value === "string" && value)
        .map(([, value]) => line("text", value));
}

/** The value of a progress, from 0 to 1; null where there is none. */
export function progressValue(progress) {
    const value = typeof progress === "number" ? progress : progress?.value;
    return typeof value === "number" && isFinite(value) ? Math.min(1, Math.max(0, value)) : null;
}

/** A progress: whole, in segments, or with points. */
export function bar(progress) {
    const value = progressValue(progress);
    if (value === null) return null;
    const segments = typeof progress === "object" ? progress.segments : null;
    const points = typeof progress === "object" && Array.isArray(progress.points) ? progress.points : [];
    const sizes = Array.isArray(segments) ? segments.map(one => (typeof one === "number" && one > 0 ? one : 1))
        : Array.from({ length: Math.min(20, Number.isInteger(segments) && segments > 0 ? segments : 1) }, () => 1);
    const whole = sizes.reduce((sum, one) => sum + one, 0);
    let before = 0;
    const parts = sizes.map(size => {
        const filled = Math.min(1, Math.max(0, (value * whole - before) / size));
        before += size;
        return el("span.part", { vars: { filled, size } });
    });
    const dots = points.filter(point => typeof point === "number" && point >= 0 && point <= 1)
        .map(point => el("span.point", { data: { passed: value >= point }, vars: { at: point } }));
    return el("div.bar", {
        role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100,
        "aria-valuenow": Math.round(value * 100),
    }, parts, dots);
}

/** A ring around the symbol of a minimal presentation. */
export function ring(value) {
    return el("svg.ring", { viewBox: "0 0 36 36", "aria-hidden": "true" },
        el("circle.track", { cx: 18, cy: 18, r: 15.5 }),
        el("circle.fill", { cx: 18, cy: 18, r: 15.5, pathLength: 100, "stroke-dasharray": `${value * 100} 100` }));
}

/** A button inside a view: a control, a link, or the room of one that does not exist. */
function button(one) {
    if (!one || typeof one !== "object" || (!one.control && !one.link)) return el("span.button.empty", { "aria-hidden": "true", data: { missing: one?.key ?? null } });
    const tint = color(one.tint) ?? (one.control === "toggle" ? "var(--blue)" : null);
    const parts = [
        one.symbol ? symbol(one.symbol) : one.link && !text(one.title) ? symbol("arrow.up.right") : null,
        el("span.words", {}, el("span.name", { dir: "auto" }, text(one.title)), text(one.text) === null ? null : el("span.value", { dir: "auto" }, text(one.text))),
    ];
    const isBusy = one.phase === "pending" || one.phase === "performing";
    const isDead = one.interactive === false || one.available === false;
    const label = text(one.title) === null ? one.symbol ?? "Open" : null;
    if (one.link) {
        const isSafe = /^(https?|tel|mailto|sms):/i.test(one.link);
        if (isDead || !isSafe) return el("span.button.link", { data: { dead: true } }, parts);
        return el("a.button.link", { href: one.link, rel: "noopener noreferrer", target: "_blank", "aria-label": label }, parts);
    }
    return el("button.button", {
        type: "button", "aria-disabled": isDead ? "true" : null, "aria-label": label,
        "aria-pressed": one.control === "toggle" ? String(one.shown === true) : null,
        data: {
            control: one.control, key: one.key, entity: one.key, phase: one.phase, dead: isDead || null, busy: isBusy || null,
            on: one.shown === true || null, wants: one.control === "toggle" ? (one.shown === true ? "off" : "on") : null,
        },
        vars: tint ? { tint } : {},
    }, parts);
}

/** Controls and links inside a view. */
export function buttons(list) {
    return Array.isArray(list) && list.length ? el("div.buttons", { data: { count: list.length } }, list.map(button)) : null;
}

/** The icon of an app, for the presentations that show one without being told. */
export function appIcon(name) { return el("span.app-icon", { "aria-hidden": "true" }, symbol(name)); }

function texts(view) {
    return [line("title", view.title), line("subtitle", view.subtitle), line("text", view.text), ...extras(view)].filter(Boolean);
}

/** A half of the island, or a region of its expanded form: everything in one flow. */
function region(name, view) {
    if (!view || typeof view !== "object") return null;
    const tint = color(view.tint);
    return el(`div.region.${name}`, { vars: tint ? { tint } : {} },
        view.symbol ? symbol(view.symbol) : null, texts(view), timer(view.timer), bar(view.progress), buttons(view.buttons));
}

const DRAW = {
    lockScreen(view, { icon }) {
        return [
            el("div.head", {}, appIcon(view.symbol ?? icon), el("div.texts", {}, texts(view)), timer(view.timer)),
            bar(view.progress), buttons(view.buttons),
        ];
    },
    small(view, { icon, appName }) {
        return [
            el("div.head", {}, view.symbol ? symbol(view.symbol) : appIcon(icon), el("div.texts", {}, line("app-name", appName), texts(view)), timer(view.timer)),
            bar(view.progress), buttons(view.buttons),
        ];
    },
    compact(view, { joined, appName }) {
        return [
            region("leading", view.leading), joined ? null : el("span.camera", { "aria-hidden": "true" }),
            joined ? line("app-name", appName) : null, region("trailing", view.trailing),
        ];
    },
    minimal(view) {
        const value = progressValue(view.progress);
        return [
            value === null ? null : ring(value),
            view.symbol ? symbol(view.symbol) : null, texts(view), timer(view.timer),
        ];
    },
    expanded(view) {
        return [
            region("leading", view.leading), el("span.camera", { "aria-hidden": "true" }), region("trailing", view.trailing),
            region("center", view.center), region("bottom", view.bottom),
        ];
    },
};

/**
 * Draws one presentation.
 *
 * @param {{presentation: string, view: object}} drawn A row, or the part of a phone's row for one place.
 * @param {object} row The whole row: whether it is stale or has ended, and whose it is.
 * @param {{icon?: string, testid?: string, key: string, rev: number, state?: string}} context
 */
export function present(drawn, row, context) {
    const name = Object.hasOwn(DRAW, drawn.presentation) ? drawn.presentation : "lockScreen";
    const view = drawn.view ?? {};
    const tint = color(view.tint) ?? accent(row.app);
    return el(`div.view.${name}`, {
        role: "group", "aria-label": `${row.title ?? context.key}: ${name}`,
        data: {
            testid: context.testid, presentation: name, key: context.key, rev: context.rev, state: context.state,
            lifecycle: row.lifecycle, stale: row.stale || null, highlighted: row.highlighted || null, joined: row.joined || null,
            luminance: drawn.luminance ?? row.luminance,
        },
        vars: { tint },
    }, DRAW[name](view, { icon: context.icon, joined: row.joined, appName: row.appName }),
    row.stale ? symbol("clock", ".stale-mark") : null);
}

/** The first symbol that a row names, for the icon of its app. */
export function iconOf(row) {
    const views = [row.view, row.island?.view, row.island?.expanded?.view, row.lockScreen?.view];
    for (const view of views) {
        const found = view?.symbol ?? view?.leading?.symbol ?? view?.trailing?.symbol;
        if (found) return found;
    }
    return null;
}
