// Posting events by hand: a button for each that the present state takes, and a form for any other.

import { Refusal, ask, entityPath } from "./api.js";
import { el, renew, say } from "./dom.js";
import { eventsTaken } from "./machine.js";

/** The panel with which events of one activity are posted. */
export class EventPanel {
    #types = new Set();

    constructor(key) {
        this.key = key;
        this.definition = null;
        this.buttons = el("div.event-buttons", { role: "group", "aria-label": "Events that this state takes" });
        this.type = el("input", { id: "event-type", name: "type", list: "event-types", required: true, autocomplete: "off", placeholder: "ready", maxlength: 128 });
        this.list = el("datalist", { id: "event-types" });
        this.data = el("textarea", { id: "event-data", rows: 3, spellcheck: "false", placeholder: '{"content-state":{"shelf":"B"}}' });
        const form = el("form.event-form", {},
            el("label", { for: "event-type" }, "Type"), this.type, this.list,
            el("label", { for: "event-data" }, "Data (JSON)"), this.data, el("button.primary", { type: "submit" }, "Post"));
        form.addEventListener("submit", event => {
            event.preventDefault();
            this.#post(this.type.value.trim(), this.data.value.trim());
        });
        this.buttons.addEventListener("click", event => {
            const type = event.target.closest("button")?.dataset.type;
            if (type) this.#post(type, "");
        });
        this.root = el("section.panel-of-page", { "aria-labelledby": "events-title" },
            el("h2", { id: "events-title" }, "Post an event"), this.buttons, el("details", {}, el("summary", {}, "Any other event"), form));
    }

    /** Draws the buttons for a configuration. */
    show(configuration, known) {
        const types = eventsTaken(this.definition, configuration);
        renew(this.buttons, types.length
            ? types.map(type => el("button", { type: "button", data: { type, key: type, testid: "event" } }, type))
            : el("p.quiet", {}, this.definition?.machine ? "This state takes no event." : "The kind's definition is not told here; write the event's type below."));
        for (const type of known) {
            if (this.#types.has(type)) continue;
            this.#types.add(type);
            this.list.append(el("option", { value: type }));
        }
    }

    async #post(type, body) {
        try {
            const { data } = await ask("POST", `${entityPath(this.key)}/events/${encodeURIComponent(type)}`, { body: body || "{}" });
            if (data.verdict !== "applied") say(`${type}: ${data.verdict}`, data.verdict === "ignored" ? "bad" : "plain");
            this.posted?.();
        } catch (refusal) {
            if (!(refusal instanceof Refusal)) throw refusal;
            say(`${type}: ${refusal.message}`, "bad");
        }
    }
}
