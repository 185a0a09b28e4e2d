// The picture of a widget for a moment, from the entries of its row. No message brings the next one: the page draws it at its date.

import { el } from "./dom.js";
import { entryAt } from "./servertime.js";
import { symbol } from "./symbols.js";
import { bar, buttons, color, line, progressValue, ring, timer } from "./views.js";

/** Lines of a list that a picture has room for. */
const LINES = { systemSmall: 3, systemMedium: 3, systemLarge: 9, systemExtraLarge: 9, systemExtraLargePortrait: 14 };

/** The room for a text that is not known yet. */
function part(name, value) {
    if (Number.isInteger(value?.block)) return el(`div.${name}`, {}, el("span.block", { vars: { characters: Math.min(24, Math.max(1, value.block)) } }));
    return line(name, value);
}

function sign(value) {
    if (typeof value === "string" && value) return symbol(value);
    return Number.isInteger(value?.block) ? el("span.block.sign") : null;
}

function list(view, family) {
    if (!Array.isArray(view.list) || !view.list.length) return null;
    const most = LINES[family] ?? 0;
    const lines = view.list.slice(0, most).map(one => {
        const texts = one && typeof one === "object" ? Object.values(one) : [one];
        return el("li", { dir: "auto" }, texts.filter(text => text !== null && text !== "").map(String).join(" · "));
    });
    const rest = Math.max(0, view.list.length - most) + (Number.isInteger(view.more) ? view.more : 0);
    return el("ul.items", {}, lines, rest && most ? el("li.more", {}, `and ${rest} more`) : null);
}

function round(view) {
    const value = progressValue(view.progress);
    return [
        value === null ? null : ring(value), sign(view.symbol),
        part("title", view.title ?? view.text ?? view.subtitle), timer(view.timer),
    ];
}

function inline(view) {
    return [sign(view.symbol), part("text", view.text ?? view.title), timer(view.timer)];
}

function whole(view, family) {
    return [
        el("div.head", {}, sign(view.symbol), part("title", view.title), timer(view.timer)),
        part("subtitle", view.subtitle), part("text", view.text), list(view, family), el("span.grow"), bar(view.progress), buttons(view.buttons),
    ];
}

/**
 * Draws a widget as it is at a moment.
 *
 * @param {object} row A row of a widget, or of a tile.
 * @param {number} now Unix milliseconds, on the server's clock.
 */
export function widget(row, now) {
    const family = row.presentation ?? "systemSmall";
    const entry = entryAt(row, now);
    const view = entry?.view ?? {};
    const tint = color(view.tint) ?? color(row.behind) ?? "var(--blue)";
    const behind = color(view.background?.tint ?? view.background);
    const draw = ["accessoryCircular", "accessoryCorner"].includes(family) ? round : family === "accessoryInline" ? inline : whole;
    const picture = el("div.widget", {
        data: {
            family, mode: row.mode, background: row.background, stale: entry?.stale || null, placeholder: entry?.placeholder || null,
            unavailable: row.unavailable || null, luminance: row.luminance, night: row.night || null, appearance: row.appearance,
            mounting: row.mounting, texture: row.texture, behind: behind ? "yes" : null,
        },
        vars: { tint, ...(behind ? { behind } : {}), ...(row.scale && row.mounting ? { scale: row.scale / 100 } : {}) },
    }, draw(view, family));
    for (const name of row.invalid ?? []) for (const one of picture.querySelectorAll(`.${CSS.escape(name)}`)) one.dataset.invalid = "yes";
    return picture;
}
