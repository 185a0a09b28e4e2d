// One person's device, as that person sees it: every activity that it shows, in the order and the forms that the daemon says.

import * as devices from "./devices.js";
import { icon, learnIcon } from "./icons.js";
import { appIcon, present } from "./views.js";
import { eachFrame, el, renew } from "./dom.js";
import { isControl } from "./controls.js";
import { Link } from "./link.js";

const TRAITS = {
    phone: { locked: ["no", "yes"], luminance: ["normal", "reduced"], foreground: null },
    watch: { wrist: ["up", "down"], foreground: null },
    carplay: { dashboard: ["visible", "hidden"], focus: ["off", "on"] },
    desktop: {},
    standby: { standby: ["off", "tapped"], light: ["normal", "low"], luminance: ["normal", "reduced"] },
};
const NAMES = { phone: "iPhone", watch: "Apple Watch", carplay: "CarPlay", desktop: "Mac", standby: "StandBy" };
const MOMENT = 5000;

/** Lets a person pick a device, and draws it. */
export class Picker {
    #link = null;
    #alert = null;
    #moment = new Map();
    #refusal = null;

    constructor(query) {
        this.surface = el("select", { id: "device-surface" }, el("option", { value: "" }, "No device"), Object.entries(NAMES).map(([name, words]) => el("option", { value: name }, words)));
        this.account = el("input", { id: "device-account", placeholder: "everybody's", autocomplete: "off", maxlength: 64 });
        this.traits = el("div.tools");
        this.place = el("div.device-of-person", { data: { testid: "device" } });
        const field = (name, input) => el("div.field", {}, el("label", { for: input.id }, name), input);
        this.root = el("details.panel-of-page.picker", {}, el("summary", {}, "One person's device"),
            el("div.tools", {}, field("Device", this.surface), field("Account", this.account), this.traits), this.place);
        const asked = query.get("device");
        if (Object.hasOwn(NAMES, asked)) {
            this.surface.value = asked;
            this.account.value = query.get("account") ?? "";
            this.root.open = true;
        }
        this.surface.addEventListener("change", () => this.#pick());
        this.account.addEventListener("change", () => this.#follow());
        this.traits.addEventListener("change", () => this.#follow());
        if (this.surface.value) this.#pick();
    }

    #pick() {
        const traits = TRAITS[this.surface.value] ?? {};
        this.traits.replaceChildren(...Object.entries(traits).map(([name, values]) => {
            const id = `trait-${name}`;
            const input = values ? el("select", { id, name }, values.map(value => el("option", { value }, value))) : el("input", { id, name, placeholder: "none, or an app", autocomplete: "off" });
            return el("div.field", {}, el("label", { for: id }, name), input);
        }));
        this.#follow();
    }

    #follow() {
        this.#link?.close();
        this.#link = null;
        this.#refusal = null;
        this.#moment.clear();
        const surface = this.surface.value;
        if (!surface) return this.place.replaceChildren();
        const traits = {};
        for (const input of this.traits.querySelectorAll("select, input")) if (input.value) traits[input.name] = input.value;
        this.situation = traits;
        this.#link = new Link([`*,${surface}`], { surface, account: this.account.value.trim() || undefined, traits });
        const draw = eachFrame(() => this.#draw(surface));
        this.draw = draw;
        this.#link.addEventListener("change", ({ detail }) => {
            const entry = this.#link.row(0, detail.key);
            if (entry && !entry.isSnapshot && (entry.row.banner || entry.row.expanded)) this.#hold(detail.key, entry.row, draw);
            draw();
        });
        this.#link.addEventListener("alert", ({ detail }) => {
            this.#alert = detail;
            setTimeout(() => { if (this.#alert === detail) { this.#alert = null; draw(); } }, MOMENT);
            draw();
        });
        this.#link.addEventListener("state", draw);
        this.#link.addEventListener("refused", ({ detail }) => { this.#refusal = detail; draw(); });
        draw();
    }

    #hold(key, row, draw) {
        this.#moment.set(key, row);
        setTimeout(() => { this.#moment.delete(key); draw(); }, MOMENT);
    }

    #draw(surface) {
        if (!this.#link) return;
        if (this.#refusal) return renew(this.place, el("p.quiet", { role: "alert" }, this.#refusal.message));
        const entries = [...this.#link.rows(0).values()].filter(entry => !isControl(entry.row))
            .sort((one, other) => (one.row.order ?? 1e9) - (other.row.order ?? 1e9) || (one.key < other.key ? -1 : 1));
        for (const { key, row } of entries) learnIcon(key, row, this.draw);
        renew(this.place, el("div.stage", { data: { luminance: this.situation.luminance ?? "normal", night: this.situation.light === "low" ? "yes" : null } }, el("div.device", {}, this.#device(surface, entries))));
    }

    #present(entry, drawn) { return present(drawn, entry.row, { icon: icon(entry.key, entry.row), key: entry.key, rev: entry.rev, testid: "device-view" }); }

    #device(surface, entries) {
        const whole = entries.filter(entry => entry.row.presentation);
        const views = whole.slice(0, 12).map(entry => this.#present(entry, entry.row));
        const alert = this.#alert;
        switch (surface) {
            case "watch":
                return devices.watch(views, { alert: alert ? el("div.watch-alert", { role: "alert", vars: { tint: "var(--blue)" } }, appIcon(icon(alert.key)), el("div.title", { dir: "auto" }, alert.title), alert.body ? el("div.body", { dir: "auto" }, alert.body) : null) : null });
            case "carplay":
                return devices.carplay(views.length ? views.slice(0, 2) : [devices.empty("Nothing here")], {
                    notification: alert?.style === "notification" ? el("div.car-note", { role: "alert", vars: { tint: "var(--blue)" } }, appIcon(icon(alert.key)), el("div", { dir: "auto" }, alert.title)) : null,
                });
            case "desktop":
                return devices.menuBar(views.slice(0, 5));
            case "standby": {
                const banner = entries.map(entry => [entry, this.#moment.get(entry.key)?.banner]).find(([, one]) => one);
                const [first] = whole;
                const full = banner ? this.#present(banner[0], banner[1]) : first?.row.fullScreen ? views[0] : null;
                return devices.standby(full || !first ? null : views[0], { full });
            }
            default:
                return this.#phone(entries);
        }
    }

    #phone(entries) {
        const cards = entries.filter(entry => entry.row.lockScreen).map(entry => this.#present(entry, entry.row.lockScreen));
        const onIsland = entries.filter(entry => entry.row.island).sort((one, other) => one.row.island.order - other.row.island.order);
        const opened = entries.map(entry => [entry, this.#alert?.key === entry.key && this.#alert.style === "expanded" ? entry.row.island?.expanded ?? this.#moment.get(entry.key)?.expanded : null]).find(([, view]) => view);
        let island = null;
        if (opened) island = el("div.pill", { data: { form: "expanded" } }, this.#present(opened[0], opened[1]));
        else if (onIsland[0]?.row.island.presentation === "compact") island = el("div.pill", { data: { form: "compact" } }, this.#present(onIsland[0], onIsland[0].row.island));
        else if (onIsland.length) {
            island = [el("div.pill", { data: { form: "minimal" } }, this.#present(onIsland[0], onIsland[0].row.island), el("span.camera", { "aria-hidden": "true" })),
                onIsland[1] ? el("div.detached.beside", {}, this.#present(onIsland[1], onIsland[1].row.island)) : null];
        }
        return devices.lockScreen(cards.slice(0, 6), { island, isLocked: this.situation.locked === "yes" });
    }
}
