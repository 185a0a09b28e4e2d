// An activity as a card, and how a person wants to see it.

import { pagePath } from "./api.js";
import { clock, ago } from "./clock.js";
import { el } from "./dom.js";
import { empty, standby } from "./devices.js";
import { icon } from "./icons.js";
import { activeStates } from "./machine.js";
import { present } from "./views.js";

/** Faces of a card: the surface whose row is drawn, and the part of it. */
export const FACES = {
    lockScreen: { name: "Lock Screen", view: "phone", pick: row => row.lockScreen },
    island: { name: "Island", view: "phone", pick: row => row.island },
    expanded: { name: "Island, expanded", view: "phone", pick: row => row.island?.expanded },
    watch: { name: "Watch", view: "watch", pick: row => (row.presentation ? row : null) },
    carplay: { name: "CarPlay", view: "carplay", pick: row => (row.presentation ? row : null) },
    desktop: { name: "Menu bar", view: "desktop", pick: row => (row.presentation ? row : null) },
    standby: { name: "StandBy", view: "standby", pick: row => (row.presentation ? row : null), frame: (view, drawn) => standby(view, { full: drawn.presentation === "minimal" ? null : view }) },
};

/** The active state in a few words: of parallel ones the state that holds them all. */
export function stateName(full) {
    const all = activeStates(full);
    const active = all.filter(path => !all.some(other => other.startsWith(`${path}.`)));
    if (active.length < 2) return full?.state ?? full?.phase ?? "";
    const paths = active.map(path => path.split("."));
    const differs = paths[0].findIndex((name, index) => paths.some(path => path[index] !== name));
    const shared = paths[0].slice(0, Math.max(0, differs));
    return shared.length ? `${shared.join(".")} (${active.length} in parallel)` : `${active.length} in parallel`;
}

/** The life-cycle that a card is filed under. */
export function lifecycleOf(full) { return full?.lifecycle ?? "active"; }

/** A view in the display that it belongs to, where it says too little without it. */
function framed(face, view, drawn) { return face.frame ? el("div.device", {}, face.frame(view, drawn)) : view; }

/**
 * The card of an activity.
 *
 * @param {string} key
 * @param {{rev: number, row: object}|undefined} full Its `full` row.
 * @param {{rev: number, row: object}|undefined} shown The row of the surface that it is seen as.
 * @param {object} face One of FACES.
 */
export function card(key, full, shown, face) {
    const row = shown?.row;
    const drawn = row ? face.pick(row) : null;
    const lifecycle = lifecycleOf(full?.row);
    const state = full?.row.state ?? "";
    const context = { icon: icon(key, row), key, rev: shown?.rev ?? 0, state };
    return el("article.card", { data: { testid: "card", key, rev: full?.rev ?? shown?.rev, state, lifecycle } },
        el("header", {}, el("a", { href: pagePath(key), dir: "auto" }, row?.title ?? key), el("span.badge", { dir: "auto" }, stateName(full?.row) || lifecycle)),
        el("div.face", {}, el("div.wallpaper", { "aria-hidden": "true" }), drawn ? framed(face, present(drawn, row, context), drawn) : empty(full?.row.lifecycle === "ended" ? "Left at its end" : "Not shown there")),
        el("footer", {}, el("span.key", { dir: "auto" }, key), full?.row.updatedAt ? el("span", { data: { ago: full.row.updatedAt } }, ago(full.row.updatedAt, clock.now())) : null));
}
