// The frames of the devices. What stands in them beside the activities (a clock, a dock, a map) is scenery: hidden from
// screen readers, and no part of a preview.

import { faceText } from "./clock.js";
import { el } from "./dom.js";
import { symbol } from "./symbols.js";

const scenery = (selector, ...children) => el(selector, { "aria-hidden": "true" }, ...children);
const time = face => el("span", { data: { clock: face } }, faceText(face));

function battery() {
    return el("svg.battery", { viewBox: "0 0 27 13" },
        el("rect.case", { x: 0.5, y: 0.5, width: 23, height: 12, rx: 3.8 }), el("rect.charge", { x: 2, y: 2, width: 17, height: 9, rx: 2.5 }),
        el("path.charge", { d: "M25 4.5v4c.8-.3 1.3-1.1 1.3-2s-.5-1.7-1.3-2z" }));
}

function bars() {
    return el("svg.signal", { viewBox: "0 0 18 12" }, [3, 5.5, 8.5, 12].map((height, index) => el("rect", { x: index * 4.8, y: 12 - height, width: 3.2, height, rx: 1 })));
}

function status() {
    return scenery("div.status", el("span.time", {}, time("hour")), el("span.signs", {}, bars(), symbol("wifi"), battery()));
}

/** A phone, upright. `isCrop` shows its upper end alone. */
function phone(place, { isCrop, island, content }) {
    return el(`div.phone${isCrop ? ".crop" : ""}`, { data: { place } },
        scenery("i.key.action"), scenery("i.key.up"), scenery("i.key.down"), scenery("i.key.side"),
        el("div.screen", {}, scenery("div.wallpaper"), status(), el("div.island", {}, island ?? scenery("span.camera")), content));
}

/** The Lock Screen with its activities, the newest alert on top. */
export function lockScreen(views, { island, isLocked = true } = {}) {
    return phone("lockScreen", {
        island,
        content: [
            scenery("div.lock-clock", symbol(isLocked === false ? "lock.open.fill" : "lock.fill"), el("div.day", {}, time("day")), el("div.hour", {}, time("hour"))),
            el("div.stack", {}, views),
            scenery("div.corners", el("i", {}, symbol("flashlight.off.fill")), el("i", {}, symbol("camera.fill"))), scenery("div.home-bar"),
        ],
    });
}

/** The upper end of an unlocked phone with its island. `form` is compact, minimal, expanded or empty, which `note` explains. */
export function island(form, view, note = null) {
    const camera = scenery("span.camera");
    let content = camera;
    if (form === "compact" || form === "expanded") content = view;
    // Two apps share the island: one is attached to it, the other is a separate circle. Ours is the latter.
    if (form === "minimal") content = [scenery("span.other", symbol("music.note")), camera];
    return phone(`island-${form}`, {
        isCrop: true, island: el("div.pill", { data: { form } }, content),
        content: form === "minimal" ? el("div.detached", {}, view) : note ? el("div.aside", {}, empty(note)) : scenery("div.apps", ...apps()),
    });
}

function apps() {
    const names = [["envelope.fill", "blue"], ["calendar", "red"], ["camera.fill", "gray"], ["music.note", "pink"]];
    return names.map(([name, tint]) => el("span.app-icon", { vars: { tint: `var(--${tint})` } }, symbol(name)));
}

/** A watch of 45 mm: its Smart Stack, or an alert that covers it. */
export function watch(views, { alert } = {}) {
    return el("div.watch", {},
        scenery("i.band.upper"), scenery("i.band.lower"), scenery("i.crown"), scenery("i.key"),
        el("div.screen", {},
            scenery("div.watch-time", el("span.day", {}, "Smart Stack"), time("hour")),
            el("div.smart-stack", { tabindex: 0, role: "group", "aria-label": "Smart Stack" }, views.length ? views : scenery("div.tile.empty"),
                scenery("div.tile", el("span.app-icon", { vars: { tint: "var(--teal)" } }, symbol("sun.max.fill")), el("span.lines")), scenery("div.tile.far")),
            alert));
}

/** CarPlay's dashboard: a map, the activities, what is playing. */
export function carplay(views, { notification } = {}) {
    return el("div.car", {}, el("div.screen", {},
        scenery("div.rail", el("span.time", {}, time("hour")), el("span.signs", {}, bars()),
            ...[["location.fill", "green"], ["music.note", "pink"], ["phone.fill", "green"]].map(([name, tint]) => el("span.app-icon", { vars: { tint: `var(--${tint})` } }, symbol(name))),
            el("span.grid", {})),
        scenery("div.map", map(), el("div.turn", {}, symbol("arrow.up.right"), el("span.lines"))),
        el("div.column", {}, views, views.length > 1 ? null : scenery("div.now-playing", el("span.cover", {}, symbol("music.note")), el("span.lines"), symbol("pause.fill"))),
        notification));
}

function map() {
    const roads = ["M-10 190C60 170 90 150 120 96S170 20 232-10", "M-10 60 232 130", "M40-10 90 260", "M150-10 190 260", "M-10 128 232 40"];
    return el("svg.streets", { viewBox: "0 0 222 246", preserveAspectRatio: "xMidYMid slice" },
        el("path.water", { d: "M150 260c-8-60 20-70 40-100s60-30 60-30v140z" }), el("path.park", { d: "M-10-10h70l18 70L-10 84z" }),
        roads.map(d => el("path.road", { d })), el("path.route", { d: "M66 260C72 200 100 170 120 96S160 30 196 8" }),
        el("circle.here", { cx: 112, cy: 120, r: 8 }));
}

/** A Mac's menu bar, with the panel of the selected activity. */
export function menuBar(items, { panel } = {}) {
    return el("div.mac", {}, el("div.screen", {}, scenery("div.wallpaper"),
        el("div.bar-of-menus", {},
            scenery("span.menus", el("b", {}, "Finder"), ...["File", "Edit", "View", "Go", "Window", "Help"].map(name => el("span", {}, name))),
            el("div.menu-items", {}, items),
            scenery("span.signs", battery(), symbol("wifi"), symbol("magnifyingglass"), time("hour"))),
        panel ? el("div.panel", {}, panel) : null));
}

/** A phone that charges on its side. A view in full fills the display. */
export function standby(view, { full } = {}) {
    return el("div.phone.lying", { data: { place: "standby" } }, el("div.screen", {},
        full ? el("div.filled", {}, full) : [
            scenery("div.clock-face", time("hour")),
            scenery("div.month", el("span.day", {}, time("day")), el("span.grid-of-days", {}, Array.from({ length: 35 }, (_, index) => el("i", index === 17 ? { class: "today" } : {})))),
            el("div.detached.alone", {}, view),
        ]));
}

/** What is said where a surface shows nothing of an activity. */
export function empty(words) { return el("div.nothing", {}, words); }
