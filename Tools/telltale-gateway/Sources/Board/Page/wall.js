// The wall: one activity on every screen at once, each drawn from the row of its own surface.

import { ask, entityPath, oneAtATime } from "./api.js";
import { ago, clock, countdown } from "./clock.js";
import { tile } from "./controls.js";
import { Diagram } from "./diagram.js";
import * as devices from "./devices.js";
import { eachFrame, el, renew } from "./dom.js";
import { EventPanel } from "./events.js";
import { symbolOf } from "./icons.js";
import { Link } from "./link.js";
import { showLink } from "./main.js";
import { stateName } from "./cards.js";
import { Timeline } from "./timeline.js";
import { accent, appIcon, color, iconOf, present } from "./views.js";

/** How long an alert is shown. */
const MOMENT = 5000;
const SURFACES = ["full", "phone", "watch", "carplay", "desktop", "standby"];
const PLACEMENTS = {
    controlCenterSmall: "Control Center, small", controlCenterMedium: "Control Center, medium", controlCenterLarge: "Control Center, large",
    lockScreen: "Lock Screen", menuBar: "Menu bar", smartStack: "Smart Stack", actionButton: "Action button", actionButtonHold: "Action button, held",
};
/** Situations that a person can try: the traits that each sets. */
const SITUATIONS = [
    ["Locked", { locked: "yes" }], ["Always-On", { luminance: "reduced", wrist: "down" }], ["Night", { light: "low" }],
    ["StandBy tapped", { standby: "tapped" }], ["Car on another screen", { dashboard: "hidden" }],
];

/** Draws the page of one entity, and keeps it drawn. A control's rows turn it into the page of a control. */
export function wall(main, key) {
    document.title = `${key} · Telltale`;
    new Wall(main, key, key.split("/")[0]);
}

function figure(name, note, device, { wide, testid } = {}) {
    return el(`figure.stage${wide ? ".wide" : ""}`, { data: { key: name, place: testid } },
        el("div.device", {}, device), el("figcaption", {}, el("b", {}, name), el("span", {}, note)));
}

class Wall {
    #moments = new Map();
    #panel = null;
    #icon = null;
    #last = null;
    #tint = "var(--blue)";

    constructor(main, key, kind) {
        this.main = main;
        this.key = key;
        this.definition = null;
        this.traits = {};
        this.heading = el("div.heading");
        this.scene = el("div.scene", { role: "region", "aria-label": "Every screen" });
        this.timeline = new Timeline(key);
        this.diagram = new Diagram(kind);
        this.events = new EventPanel(key);
        this.json = el("pre", { tabindex: 0, "aria-label": "Rows as JSON" });
        const situations = el("div.situations", { role: "group", "aria-label": "Situation of the devices" },
            SITUATIONS.map(([name], index) => el("button.chip", { type: "button", "aria-pressed": "false", data: { index } }, name)));
        situations.addEventListener("click", event => this.#turn(event.target.closest("button")));
        main.replaceChildren(
            el("div.wall", {}, this.heading, situations, this.scene,
                el("div.below", {}, el("div.side", {}, this.events.root, this.diagram.root), this.timeline.root),
                el("details.panel-of-page.rows", {}, el("summary", {}, "Rows as JSON"), this.json)));

        this.link = new Link(SURFACES.map(view => `${key},${view}`));
        showLink(this.link);
        const draw = eachFrame(() => this.draw());
        this.readPanel = oneAtATime(() => this.#readPanel(draw));
        ask("GET", `/v1/kinds/${encodeURIComponent(kind)}`).then(({ data }) => {
            this.definition = data;
            this.#icon ??= symbolOf(data);
            this.events.definition = data;
            this.events.show(this.#row("full")?.configuration ?? null, this.timeline.types);
            draw();
        }).catch(() => { /* A kind that is unknown, or that this token may not see, has no buttons. */ });
        this.link.addEventListener("change", event => this.#changed(event.detail.sub, draw));
        this.link.addEventListener("state", draw);
        this.link.addEventListener("alert", event => this.#alert(event.detail, draw));
        this.events.posted = () => this.timeline.renew();
        this.timeline.dispatch = (event, isNew) => {
            this.events.show(this.#row("full")?.configuration ?? null, this.timeline.types);
            this.diagram.light(this.#row("full")?.configuration, isNew ? event?.type : null);
        };
        this.diagram.load().then(isThere => { if (isThere) this.diagram.light(this.#row("full")?.configuration); });
        this.timeline.renew();
        setTimeout(() => { this.isLate = true; draw(); }, 1000);
    }

    #entry(view) { return this.link.row(SURFACES.indexOf(view), this.key); }
    #row(view) { return this.#entry(view)?.row; }

    #turn(button) {
        if (!button) return;
        const isOn = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(isOn));
        for (const [name, value] of Object.entries(SITUATIONS[button.dataset.index][1])) {
            if (isOn) this.traits[name] = value;
            else delete this.traits[name];
        }
        this.link.begin({ traits: this.traits });
    }

    #changed(sub, draw) {
        const view = SURFACES[sub];
        const entry = this.#entry(view);
        if (entry?.row.control) return this.#becomeControl();
        this.#icon = (entry && iconOf(entry.row)) ?? this.#icon;
        // An alert marks one row alone. It is shown for its moment, whichever rows come meanwhile.
        if (entry && !entry.isSnapshot && (entry.row.banner || entry.row.highlighted)) this.#moment(view, { row: entry.row }, draw);
        if (view === "desktop") this.readPanel();
        if (view === "full") {
            this.timeline.renew();
            this.events.show(entry?.row.configuration ?? null, this.timeline.types);
        }
        draw();
    }

    #becomeControl() {
        if (this.link.state === "closed") return;
        this.link.close();
        controlPage(this.main, this.key, this.definition?.title);
    }

    #alert(alert, draw) { this.#moment(SURFACES[alert.sub - 1], { alert }, draw); }

    #moment(view, what, draw) {
        const moment = { ...this.#moments.get(view), ...what };
        clearTimeout(moment.timer);
        moment.timer = setTimeout(() => { this.#moments.delete(view); draw(); }, MOMENT);
        this.#moments.set(view, moment);
        draw();
    }

    /** What a click on the item of the menu bar opens: the daemon says. */
    async #readPanel(draw) {
        const traits = Object.entries(this.traits).map(([name, value]) => `&trait=${name}:${value}`).join("");
        try {
            const { data } = await ask("GET", `${entityPath(this.key)}/open?surface=desktop${traits}`);
            this.#panel = data;
        } catch {
            this.#panel = null;
        }
        draw();
    }

    #context(view, testid) {
        return { icon: this.#icon ?? this.key, testid, key: this.key, rev: this.#entry(view)?.rev ?? 0, state: this.#row("full")?.state };
    }

    /** One presentation of a surface's row, or the reason that there is none. */
    #view(view, drawn, testid) {
        const row = this.#row(view);
        return drawn && row ? present(drawn, row, this.#context(view, testid)) : devices.empty(this.#reason(view));
    }

    #reason(view) {
        const full = this.#row("full");
        if (!full) return "Nothing yet";
        if (full.lifecycle === "pending") return "Not begun";
        if (full.lifecycle === "ended") return "Left at its end";
        if (view === "phone" && this.traits.locked) return "Locked";
        if (view === "carplay" && this.traits.dashboard) return "Another screen is in front";
        return "Not shown";
    }

    draw() {
        // The first drawing waits until the rows are whole, for a moment: to draw twice would take twice as long.
        if (this.link.state === "closed" || (this.link.state === "connecting" && !this.isLate)) return;
        const full = this.#row("full");
        const [phone, watch, car, desktop, standby] = SURFACES.slice(1).map(view => this.#row(view));
        this.#tint = accent(phone?.app ?? desktop?.app ?? this.definition?.app);
        const rev = Math.max(0, ...SURFACES.map(view => this.#entry(view)?.rev ?? 0));
        this.#drawHeading(full, rev);
        const island = phone?.island;
        const minimal = standby?.presentation === "minimal" ? standby : null;
        const alert = view => this.#moments.get(view)?.alert;
        const isAlerting = view => this.#moments.has(view);
        this.scene.dataset.luminance = this.traits.luminance ?? "normal";
        if (standby?.night) this.scene.dataset.night = "yes"; else delete this.scene.dataset.night;
        const mark = (device, view) => { if (isAlerting(view)) device.classList.add("is-alerting"); return device; };

        const expanded = island?.expanded ?? phone?.expanded;
        const compact = island?.presentation === "compact" ? island : null;
        const lock = devices.lockScreen([this.#view("phone", phone?.lockScreen, "wall-lockscreen")]);
        const banner = this.#moments.get("standby")?.row?.banner;
        const tapped = standby?.presentation === "lockScreen" ? standby : null;
        const standbyFull = banner ? present(banner, standby ?? {}, this.#context("standby", "wall-standby-banner"))
            : tapped ? this.#view("standby", tapped, "wall-standby") : null;
        const note = alert("carplay");
        renew(this.scene,
            figure("Lock Screen", "371 × 84–160 pt", mark(lock, "phone"), { testid: "lock" }),
            el("div.islands", { data: { key: "islands" } },
                figure("Compact", "Dynamic Island", compact ? devices.island("compact", this.#view("phone", compact, "wall-island")) : this.#noIsland()),
                figure("Minimal", "beside another app", island && minimal ? devices.island("minimal", this.#view("standby", minimal, "wall-island")) : this.#noIsland()),
                figure("Expanded", isAlerting("phone") ? "opened by the alert" : "371 × 84–160 pt", expanded ? mark(devices.island("expanded", this.#view("phone", expanded, "wall-island")), "phone") : this.#noIsland())),
            figure("CarPlay", "240 × 78–100 pt", mark(devices.carplay([this.#view("carplay", car?.presentation && car, "wall-carplay")], { notification: note && note.style === "notification" ? this.#note(note) : null }), "carplay"), { testid: "car" }),
            figure("Apple Watch", "Smart Stack, 184 × 80.5 pt", devices.watch([this.#view("watch", watch?.presentation && watch, "wall-watch")], { alert: alert("watch") ? this.#watchAlert(alert("watch")) : null }), { testid: "watch" }),
            figure("Mac", "menu bar, and its panel", devices.menuBar([this.#view("desktop", desktop?.presentation && desktop, "wall-menubar")], {
                panel: this.#panel && desktop?.presentation ? present(this.#panel, this.#panel, this.#context("desktop", "wall-panel")) : null,
            }), { testid: "mac" }),
            figure("StandBy", tapped ? "tapped: twice the size" : "minimal", devices.standby(minimal || !tapped ? this.#view("standby", minimal, "wall-standby") : null, { full: standbyFull }), { testid: "standby" }));
        if (isAlerting("desktop")) this.scene.querySelector(".panel")?.classList.add("is-alerting");
        this.json.textContent = JSON.stringify(Object.fromEntries(SURFACES.map(view => [view, this.#row(view) ?? null])), null, 2);
        this.diagram.light(full?.configuration);
    }

    #noIsland() { return devices.island("empty", null, this.#reason("phone")); }

    #watchAlert({ title, body }) {
        return el("div.watch-alert", { role: "alert", vars: { tint: this.#tint } }, appIcon(this.#icon ?? this.key), el("div.title", { dir: "auto" }, title), body ? el("div.body", { dir: "auto" }, body) : null);
    }

    #note({ title, body }) {
        return el("div.car-note", { role: "alert", vars: { tint: this.#tint } }, appIcon(this.#icon ?? this.key), el("div", {}, el("div", { dir: "auto" }, title), body ? el("div.body", { dir: "auto" }, body) : null));
    }

    #drawHeading(full, rev) {
        const title = this.#row("phone")?.title ?? this.definition?.title ?? this.key;
        renew(this.heading,
            el("div.titles", { vars: { tint: this.#tint } }, appIcon(this.#icon ?? this.key),
                el("div", {}, el("h1", { dir: "auto" }, title), el("p.key", {}, this.key))),
            el("dl.facts", {},
                ...[["State", full ? stateName(full) : "none"], ["Life-cycle", full?.lifecycle ?? "not begun"], ["Revision", String(rev)]]
                    .map(([name, value]) => el("div", { data: { lifecycle: name === "Life-cycle" ? value : null } }, el("dt", {}, name), el("dd", { dir: "auto" }, value))),
                full?.updatedAt ? el("div", {}, el("dt", {}, "Updated"), el("dd", { data: { ago: full.updatedAt } }, ago(full.updatedAt, clock.now()))) : null,
                full?.staleAt ? el("div", {}, el("dt", {}, "Stale in"), el("dd", { data: { timer: full.staleAt } }, countdown(full.staleAt, clock.now()))) : null,
                full?.removeAt ? el("div", {}, el("dt", {}, "Leaves in"), el("dd", { data: { timer: full.removeAt } }, countdown(full.removeAt, clock.now()))) : null));
        if (this.#last !== full?.state) { this.#last = full?.state; document.body.dataset.state = full?.state ?? ""; }
    }
}

/** A control's page: how it stands in each place. */
function controlPage(main, key, title) {
    const names = Object.keys(PLACEMENTS);
    const link = new Link([`${key},full`, ...names.map(name => `${key},phone,${name}`)]);
    const heading = el("div.heading");
    const grid = el("div.placements");
    const timeline = new Timeline(key);
    const draw = eachFrame(() => {
        const full = link.row(0, key)?.row;
        renew(heading,
            el("div.titles", { vars: { tint: color(full?.tint) ?? "var(--blue)" } }, appIcon(full?.symbol ?? key), el("div", {}, el("h1", { dir: "auto" }, link.row(2, key)?.row.title ?? title ?? key), el("p.key", {}, key))),
            el("dl.facts", {}, ...[["Value", full ? String(full.value ?? (full.control === "button" ? "button" : "unknown")) : "none"], ["Phase", full?.phase ?? "—"], ["Provider", full?.available === false ? "absent" : "connected"]]
                .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
        renew(grid, names.map((name, index) => {
            const entry = link.row(index + 1, key);
            return el("figure.stage", { data: { key: name } }, el("div.device.place-of-control", { data: { placement: name } }, entry ? tile(entry, name) : devices.empty("Nothing yet")),
                el("figcaption", {}, el("b", {}, PLACEMENTS[name])));
        }));
    });
    main.replaceChildren(el("div.wall", {}, heading, grid, timeline.root));
    link.addEventListener("change", () => { timeline.renew(); draw(); });
    showLink(link);
    timeline.renew();
    draw();
}
