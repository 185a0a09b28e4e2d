// Every screen that can show one activity, each drawn from the row of its own surface; and every place of a control.

import { tile } from "./controls.js";
import * as devices from "./devices.js";
import { el, renew } from "./dom.js";
import { accent, appIcon, present } from "./views.js";

/** How long an alert is shown. */
const MOMENT = 5000;
/** The views that the screens are drawn from. */
export const SURFACES = ["full", "phone", "watch", "carplay", "desktop", "standby"];
/** The places of a control, and what they are called. */
export const PLACEMENTS = {
    controlCenterSmall: "Control Center, small", controlCenterMedium: "Control Center, medium", controlCenterLarge: "Control Center, large",
    lockScreen: "Lock Screen", menuBar: "Menu bar", smartStack: "Smart Stack", actionButton: "Action button", actionButtonHold: "Action button, held",
};
/** Situations that a person can try: the traits that each sets. */
const SITUATIONS = [
    ["Locked", { locked: "yes" }], ["Always-On", { luminance: "reduced", wrist: "down" }], ["Night", { light: "low" }],
    ["StandBy tapped", { standby: "tapped" }], ["Car on another screen", { dashboard: "hidden" }],
];

/** Buttons that set the situation of the devices. `turned` is given all traits that are set. */
export function situations(turned) {
    const traits = {};
    const group = el("div.situations", { role: "group", "aria-label": "Situation of the devices" },
        SITUATIONS.map(([name], index) => el("button.chip", { type: "button", "aria-pressed": "false", data: { index } }, name)));
    group.addEventListener("click", event => {
        const button = event.target.closest("button");
        if (!button) return;
        const isOn = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(isOn));
        for (const [name, value] of Object.entries(SITUATIONS[button.dataset.index][1])) {
            if (isOn) traits[name] = value;
            else delete traits[name];
        }
        turned({ ...traits });
    });
    return group;
}

function figure(name, note, device, { wide, testid } = {}) {
    return el(`figure.stage${wide ? ".wide" : ""}`, { data: { key: name, place: testid } },
        el("div.device", {}, device), el("figcaption", {}, el("b", {}, name), el("span", {}, note)));
}

/** The screens of one activity. */
export class Screens {
    #moments = new Map();
    #rows = {};
    #revs = {};
    #traits = {};
    icon = null;
    tint = "var(--blue)";

    constructor(key) {
        this.key = key;
        this.root = el("div.scene", { role: "region", "aria-label": "Every screen" });
    }

    /** Shows an alert, or a row that came with one, for its moment; then draws anew. */
    moment(view, what, draw) {
        const moment = { ...this.#moments.get(view), ...what };
        clearTimeout(moment.timer);
        moment.timer = setTimeout(() => { this.#moments.delete(view); draw(); }, MOMENT);
        this.#moments.set(view, moment);
        draw();
    }

    /** No alert is shown any longer. */
    calm() {
        for (const { timer } of this.#moments.values()) clearTimeout(timer);
        this.#moments.clear();
    }

    #context(view, testid) {
        return { icon: this.icon ?? this.key, testid, key: this.key, rev: this.#revs[view] ?? 0, state: this.#rows.full?.state };
    }

    /** One presentation of a surface's row, or the reason that there is none. */
    #view(view, drawn, testid) {
        const row = this.#rows[view];
        return drawn && row ? present(drawn, row, this.#context(view, testid)) : devices.empty(this.#reason(view));
    }

    #reason(view) {
        const full = this.#rows.full;
        if (!full) return "Nothing yet";
        if (full.lifecycle === "pending") return "Not begun";
        if (full.lifecycle === "ended") return "Left at its end";
        if (full.lifecycle === "dismissed") return "Left";
        if (view === "phone" && this.#traits.locked) return "Locked";
        if (view === "carplay" && this.#traits.dashboard) return "Another screen is in front";
        return "Not shown";
    }

    /**
     * Draws every screen.
     *
     * @param {Object<string, object|null|undefined>} rows By view.
     * @param {{revs?: Object<string, number>, panel?: object|null, traits?: Object<string, string>, app?: string}} more The
     *     revisions of the rows, what a click on the item of the menu bar opens, the situation, and whose the kind is.
     */
    draw(rows, { revs = {}, panel = null, traits = {}, app } = {}) {
        [this.#rows, this.#revs, this.#traits] = [rows, revs, traits];
        const { phone, watch, carplay: car, desktop, standby } = rows;
        this.tint = accent(phone?.app ?? desktop?.app ?? app);
        const island = phone?.island;
        const minimal = standby?.presentation === "minimal" ? standby : null;
        const alert = view => this.#moments.get(view)?.alert;
        const isAlerting = view => this.#moments.has(view);
        this.root.dataset.luminance = traits.luminance ?? "normal";
        if (standby?.night) this.root.dataset.night = "yes"; else delete this.root.dataset.night;
        const mark = (device, view) => { if (isAlerting(view)) device.classList.add("is-alerting"); return device; };

        const expanded = island?.expanded ?? phone?.expanded;
        const compact = island?.presentation === "compact" ? island : null;
        const lock = devices.lockScreen([this.#view("phone", phone?.lockScreen, "wall-lockscreen")]);
        const banner = this.#moments.get("standby")?.row?.banner;
        const tapped = standby?.presentation === "lockScreen" ? standby : null;
        const standbyFull = banner ? present(banner, standby ?? {}, this.#context("standby", "wall-standby-banner"))
            : tapped ? this.#view("standby", tapped, "wall-standby") : null;
        const note = alert("carplay");
        renew(this.root,
            figure("Lock Screen", "371 × 84–160 pt", mark(lock, "phone"), { testid: "lock" }),
            el("div.islands", { data: { key: "islands" } },
                figure("Compact", "Dynamic Island", compact ? devices.island("compact", this.#view("phone", compact, "wall-island")) : this.#noIsland()),
                figure("Minimal", "beside another app", island && minimal ? devices.island("minimal", this.#view("standby", minimal, "wall-island")) : this.#noIsland()),
                figure("Expanded", isAlerting("phone") ? "opened by the alert" : "371 × 84–160 pt", expanded ? mark(devices.island("expanded", this.#view("phone", expanded, "wall-island")), "phone") : this.#noIsland())),
            figure("CarPlay", "240 × 78–100 pt", mark(devices.carplay([this.#view("carplay", car?.presentation && car, "wall-carplay")], { notification: note && note.style === "notification" ? this.#note(note) : null }), "carplay"), { testid: "car" }),
            figure("Apple Watch", "Smart Stack, 184 × 80.5 pt", devices.watch([this.#view("watch", watch?.presentation && watch, "wall-watch")], { alert: alert("watch") ? this.#watchAlert(alert("watch")) : null }), { testid: "watch" }),
            figure("Mac", "menu bar, and its panel", devices.menuBar([this.#view("desktop", desktop?.presentation && desktop, "wall-menubar")], {
                panel: panel && desktop?.presentation ? present(panel, panel, this.#context("desktop", "wall-panel")) : null,
            }), { testid: "mac" }),
            figure("StandBy", tapped ? "tapped: twice the size" : "minimal", devices.standby(minimal || !tapped ? this.#view("standby", minimal, "wall-standby") : null, { full: standbyFull }), { testid: "standby" }));
        if (isAlerting("desktop")) this.root.querySelector(".panel")?.classList.add("is-alerting");
    }

    #noIsland() { return devices.island("empty", null, this.#reason("phone")); }

    #watchAlert({ title, body }) {
        return el("div.watch-alert", { role: "alert", vars: { tint: this.tint } }, appIcon(this.icon ?? this.key), el("div.title", { dir: "auto" }, title), body ? el("div.body", { dir: "auto" }, body) : null);
    }

    #note({ title, body }) {
        return el("div.car-note", { role: "alert", vars: { tint: this.tint } }, appIcon(this.icon ?? this.key), el("div", {}, el("div", { dir: "auto" }, title), body ? el("div.body", { dir: "auto" }, body) : null));
    }
}

/** Draws a control in each of its places. `entryOf` gives the entry of a placement, or nothing. */
export function drawPlacements(grid, entryOf) {
    renew(grid, Object.entries(PLACEMENTS).map(([name, words]) => {
        const entry = entryOf(name);
        return el("figure.stage", { data: { key: name } }, el("div.device.place-of-control", { data: { placement: name } }, entry ? tile(entry, name) : devices.empty("Nothing yet")),
            el("figcaption", {}, el("b", {}, words)));
    }));
}
