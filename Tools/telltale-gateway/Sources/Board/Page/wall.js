// The wall: one activity on every screen at once, with its timeline, its states, and buttons for its events.

import { ask, entityPath, oneAtATime } from "./api.js";
import { ago, clock, countdown } from "./clock.js";
import { stateName } from "./cards.js";
import { Diagram } from "./diagram.js";
import { eachFrame, el, renew } from "./dom.js";
import { EventPanel } from "./events.js";
import { symbolOf } from "./icons.js";
import { Link } from "./link.js";
import { activeStates, isWidget } from "./machine.js";
import { showLink } from "./main.js";
import { PLACEMENTS, SURFACES, Screens, drawPlacements, situations } from "./screens.js";
import { Timeline } from "./timeline.js";
import { appIcon, color, iconOf } from "./views.js";

/** Draws the page of one entity, and keeps it drawn. A control's rows turn it into the page of a control. */
export function wall(main, key) {
    document.title = `${key} · Telltale`;
    new Wall(main, key, key.split("/")[0]);
}

class Wall {
    #panel = null;
    #last = null;
    /** An event that the timeline tells before its row has come. */
    #taken = null;

    constructor(main, key, kind) {
        this.main = main;
        this.key = key;
        this.definition = null;
        this.traits = {};
        this.heading = el("div.heading");
        this.screens = new Screens(key);
        this.timeline = new Timeline(key);
        this.diagram = new Diagram(kind);
        this.events = new EventPanel(key);
        this.situations = situations(traits => this.#turn(traits));
        this.json = el("pre", { tabindex: 0, "aria-label": "Rows as JSON" });
        main.replaceChildren(
            el("div.wall", {}, this.heading, this.situations, this.screens.root,
                el("div.below", {}, this.events.root, this.timeline.root, this.diagram.root),
                el("details.panel-of-page.rows", {}, el("summary", {}, "Rows as JSON"), this.json)));

        this.link = new Link(SURFACES.map(view => `${key},${view}`));
        showLink(this.link);
        const draw = eachFrame(() => this.draw());
        this.readPanel = oneAtATime(() => this.#readPanel(draw));
        ask("GET", `/v1/kinds/${encodeURIComponent(kind)}`).then(({ data }) => {
            this.definition = data;
            this.screens.icon ??= symbolOf(data);
            this.events.definition = data;
            this.#showEvents();
            draw();
            // A control has no machine to draw.
            if (data.type !== "activity") return;
            this.diagram.accept = data.accept ?? {};
            this.diagram.load().then(isThere => { if (isThere) this.#showStates(); });
        }).catch(() => { /* A kind that is unknown, or that this token may not see, has no buttons. */ });
        this.link.addEventListener("change", event => this.#changed(event.detail.sub, draw));
        this.link.addEventListener("state", draw);
        this.link.addEventListener("alert", ({ detail }) => this.screens.moment(SURFACES[detail.sub - 1], { alert: detail }, draw));
        this.events.posted = () => this.timeline.renew();
        this.timeline.dispatch = (event, isNew) => {
            if (isNew) this.#taken = event;
            this.#showEvents();
            this.#showStates();
        };
        this.timeline.renew();
        setTimeout(() => { this.isLate = true; draw(); }, 1000);
    }

    #entry(view) { return this.link.row(SURFACES.indexOf(view), this.key); }
    #row(view) { return this.#entry(view)?.row; }

    #turn(traits) {
        this.traits = traits;
        this.link.begin({ traits });
    }

    #changed(sub, draw) {
        const view = SURFACES[sub];
        const entry = this.#entry(view);
        if (entry?.row.control) return this.#becomeControl();
        this.screens.icon = (entry && iconOf(entry.row)) ?? this.screens.icon;
        // An alert marks one row alone. It is shown for its moment, whichever rows come meanwhile.
        if (entry && !entry.isSnapshot && (entry.row.banner || entry.row.highlighted)) this.screens.moment(view, { row: entry.row }, draw);
        if (view === "desktop") this.readPanel();
        if (view === "full") {
            this.timeline.renew();
            this.#showEvents();
        }
        draw();
    }

    #becomeControl() {
        if (this.link.state === "closed") return;
        this.link.close();
        controlPage(this.main, this.key, this.definition?.title);
    }

    #showEvents() { const full = this.#row("full"); this.events.show(full ? activeStates(full) : null, this.timeline.types); }

    /** Lights the states, and flashes the edge of the last event once the row that it made is there. */
    #showStates() {
        const entry = this.#entry("full");
        this.diagram.light(activeStates(entry?.row));
        this.diagram.time(entry?.row.timers);
        if (!this.#taken || (entry?.rev ?? 0) < this.#taken.rev) return;
        this.diagram.flash(this.#taken.type);
        this.#taken = null;
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

    draw() {
        // The first drawing waits until the rows are whole, for a moment: to draw twice would take twice as long.
        if (this.link.state === "closed" || (this.link.state === "connecting" && !this.isLate)) return;
        const of = pick => Object.fromEntries(SURFACES.map(view => [view, pick(view)]));
        const [rows, revs] = [of(view => this.#row(view)), of(view => this.#entry(view)?.rev ?? 0)];
        // A widget is on no device that is drawn here, and its content is posted as a timeline.
        const isDrawn = !isWidget(rows.full);
        for (const part of [this.situations, this.screens.root, this.events.root]) part.hidden = !isDrawn;
        if (isDrawn) this.screens.draw(rows, { revs, panel: this.#panel, traits: this.traits, app: this.definition?.app });
        this.#drawHeading(rows.full, Math.max(0, ...Object.values(revs)));
        this.json.textContent = JSON.stringify(of(view => rows[view] ?? null), null, 2);
        this.#showStates();
    }

    #drawHeading(full, rev) {
        const title = this.#row("phone")?.title ?? this.definition?.title ?? this.key;
        renew(this.heading,
            el("div.titles", { vars: { tint: this.screens.tint } }, appIcon(this.screens.icon ?? this.key),
                el("div", {}, el("h1", { dir: "auto" }, title), el("p.key", {}, this.key))),
            el("dl.facts", {},
                ...[["State", full ? stateName(full) : "none"], ["Life-cycle", isWidget(full) ? null : full?.lifecycle ?? "not begun"], ["Revision", String(rev)]]
                    .filter(([, value]) => value !== null).map(([name, value]) => el("div", { data: { lifecycle: name === "Life-cycle" ? value : null } }, el("dt", {}, name), el("dd", { dir: "auto" }, value))),
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
        drawPlacements(grid, name => link.row(names.indexOf(name) + 1, key));
    });
    main.replaceChildren(el("div.wall", {}, heading, grid, timeline.root));
    link.addEventListener("change", () => { timeline.renew(); draw(); });
    showLink(link);
    timeline.renew();
    draw();
}
