// Buttons and forms that arrange a tile or a stack, with the daemon's refusals beside them.

import { Refusal, ask, entityPath, pagePath } from "./api.js";
import { el, renew } from "./dom.js";

const WORDS = {
    __proto__: null,
    stale_rev: "It was arranged meanwhile. This is how it is now; look, then try again.",
    forbidden: "This token may not arrange the board",
    unknown_key: "It is no longer there, or the board is another account's.",
};

/** What a refusal says to a person. */
export function wordsOf(refusal) {
    const need = refusal.code === "forbidden" && refusal.problem.need ? ` (it needs ${refusal.problem.need}).` : refusal.code === "forbidden" ? "." : "";
    return (WORDS[refusal.code] ?? refusal.message) + need;
}

/** Sends what is to become of a tile. `rev` is that of the row that the person saw: another one is refused. */
export function arrange(key, body, { rev, account } = {}) {
    const query = account ? `?account=${encodeURIComponent(account)}` : "";
    return ask("POST", `${entityPath(key)}/tile${query}`, { body, ifMatch: rev });
}

/** Runs what may be refused, and shows the refusal at a place. Returns whether it was done. */
export async function attempt(place, run) {
    place.replaceChildren();
    for (const input of place.closest("section, form")?.querySelectorAll("[aria-invalid]") ?? []) input.removeAttribute("aria-invalid");
    try {
        await run();
        return true;
    } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
        place.replaceChildren(wordsOf(refusal));
        const name = String(refusal.problem.path ?? "").replace(/^configuration\.?/, "");
        const input = name ? [...(place.closest("section, form")?.elements ?? place.closest("section")?.querySelectorAll("input, select") ?? [])].find(one => one.name === name) : null;
        if (input) {
            input.setAttribute("aria-invalid", "true");
            input.focus();
        }
        return false;
    }
}

/** A place for refusals. */
export function refusalPlace() { return el("p.refusal", { role: "alert", data: { testid: "refusal" } }); }

/** A field for a parameter of a kind: what there is to choose from, or any value of its type. */
function field(prefix, parameter, value) {
    const id = `${prefix}-${parameter.name}`;
    const options = (parameter.options ?? []).map(one => (one && typeof one === "object" ? one.value : one));
    const text = value === undefined || value === null ? "" : String(value);
    let input;
    if (parameter.type === "flag" || parameter.type === "choice") {
        const choices = parameter.type === "flag" ? ["true", "false"] : options.map(String);
        input = el("select", { id, name: parameter.name }, el("option", { value: "" }, "not set"), choices.map(one => el("option", { value: one, selected: one === text }, one)));
    } else {
        input = el("input", { id, name: parameter.name, value: text, autocomplete: "off", maxlength: 256, inputmode: parameter.type === "number" ? "decimal" : null, list: options.length ? `${id}-options` : null });
    }
    return el("div.field", { data: { key: parameter.name } }, el("label", { for: id }, parameter.title ?? parameter.name), input,
        options.length && input.nodeName === "INPUT" ? el("datalist", { id: `${id}-options` }, options.map(one => el("option", { value: String(one) }))) : null);
}

/** Fields for the parameters of a kind. */
export function fields(prefix, parameters, values = {}) { return parameters.map(parameter => field(prefix, parameter, values[parameter.name])); }

/** The configuration that fields hold. What is left empty is not set. */
export function configurationIn(form, parameters) {
    const configuration = {};
    for (const { name, type } of parameters) {
        const text = [...form.querySelectorAll("input, select")].find(input => input.name === name)?.value.trim() ?? "";
        if (!text) continue;
        configuration[name] = type === "flag" ? text === "true" : type === "number" && Number.isFinite(Number(text)) ? Number(text) : text;
    }
    return configuration;
}

/** The parameters of a kind that the gallery does not tell: those that the tile has. */
function parametersOf(offer, configuration) {
    return offer?.parameters ?? Object.entries(configuration).map(([name, value]) => ({ name, type: typeof value === "boolean" ? "flag" : typeof value === "number" ? "number" : "text" }));
}

const chip = (name, words, more = {}) => el("button.chip", { type: "button", data: { act: name }, ...more }, words);

/** The panel about what is selected: a tile, or a stack. */
export class Inspector {
    #key = null;
    #shape = "";
    /** The rev that the person sees. A form that was begun keeps the one that it began with. */
    #rev = 0;
    #isBegun = false;

    /** @param {object} board What the panel acts on: see BoardPage. */
    constructor(board) {
        this.board = board;
        this.refusal = refusalPlace();
        this.note = el("p.quiet", { role: "status" });
        this.body = el("div.inspected");
        this.root = el("section.panel-of-page.inspector", { "aria-labelledby": "inspected", hidden: true, data: { testid: "inspector" } }, this.body, this.note, this.refusal);
        this.root.addEventListener("click", event => {
            const button = event.target.closest("button[data-act]");
            if (button) this.#act(button.dataset.act, button);
        });
        this.root.addEventListener("input", event => { if (event.target.closest("form.configure")) this.#isBegun = true; });
        this.root.addEventListener("change", event => {
            if (event.target.type === "checkbox") this.#act("set", event.target);
        });
        this.root.addEventListener("submit", event => {
            event.preventDefault();
            this.#act("configure", event.target);
        });
    }

    get key() { return this.#key; }

    /** Shows a tile or a stack; null for none. */
    select(key) {
        if (key === this.#key) return;
        this.#key = key;
        this.#shape = "";
        this.#isBegun = false;
        this.refusal.replaceChildren();
        this.note.replaceChildren();
        this.show();
    }

    /** Shows it as the rows tell it now. */
    show() {
        const entry = this.#key ? this.board.entry(this.#key) : null;
        this.root.hidden = !entry;
        if (!entry) return;
        const { row, rev } = entry;
        if (this.#isBegun) {
            if (rev !== this.#rev) this.note.replaceChildren("It was arranged meanwhile; your values are kept until you save or select anew.");
            return;
        }
        this.#rev = rev;
        // The form is rebuilt only for another subject, because it contains what a person types.
        const shape = JSON.stringify([this.#key, row, this.board.shapeOf(this.#key)]);
        if (shape === this.#shape) return;
        this.#shape = shape;
        const hadFocus = this.root.contains(document.activeElement) ? document.activeElement.dataset.act ?? document.activeElement.name : null;
        this.body.replaceChildren(...(row.suggested ? this.#suggestion(entry) : row.state === "stack" ? this.#stack(entry) : this.#tile(entry)).filter(Boolean));
        if (hadFocus) [...this.body.querySelectorAll("button, input, select")].find(one => (one.dataset.act ?? one.name) === hadFocus)?.focus();
    }

    #heading(title, key, words) {
        return el("div", {}, el("h2", { id: "inspected", tabindex: -1, dir: "auto" }, title), el("a.key", { href: pagePath(key), title: "Its rows and its history" }, key), el("p.quiet", {}, words));
    }

    #tile({ key, row }) {
        const { board } = this;
        const offer = board.offer(row.widget);
        const shown = board.rows.get(key);
        const parameters = parametersOf(offer, row.configuration ?? {});
        const others = board.partners(key);
        const where = row.stack ? `position ${row.position} of the stack ${row.stack}` : `place ${row.order}`;
        const pins = row.stack || board.surface === "watch";
        const words = [row.widget, row.family, where, row.pinned ? `pinned at ${row.pinned}` : null, row.placement, shown?.row.unavailable ? "its kind or widget is gone" : null, shown ? null : "not shown on this device"];
        return [
            this.#heading(offer?.title ?? shown?.row.title ?? row.widget, key, words.filter(Boolean).join(" · ")),
            el("div.event-buttons", { role: "group", "aria-label": "Arrange" },
                chip("earlier", "Earlier"), chip("later", "Later"),
                row.stack ? chip("show", "Show now") : null, row.stack ? chip("out", "Take out of the stack") : null,
                pins ? (row.pinned ? chip("unpin", "Unpin") : chip("pin", "Pin here")) : null, chip("remove", "Remove")),
            others.length && !row.stack ? el("div.beside", {},
                el("div.field", {}, el("label", { for: "onto" }, "Put on a stack"), el("select", { id: "onto", name: "onto" }, others.map(other => el("option", { value: other.key }, other.words)))),
                chip("stack", "Put there")) : null,
            parameters.length ? el("form.configure.event-form", {}, el("h3", {}, "What it shows"), fields("configure", parameters, row.configuration), el("button.primary", { type: "submit" }, "Save")) : null,
        ];
    }

    /** The one thing that can be done with it is to keep it; not even that on a watch, where it comes with what it shows. */
    #suggestion({ key, row }) {
        const why = row.stack ? `suggested in the stack ${row.stack}; it goes by itself` : "it comes and goes by itself";
        return [
            this.#heading(this.board.offer(row.widget)?.title ?? row.title ?? row.widget, key, `${row.widget} · ${why}`),
            !row.stack ? null : el("div.event-buttons", { role: "group", "aria-label": "Arrange" }, chip("keep", "Keep")),
        ];
    }

    #stack({ key, row }) {
        const tiles = this.board.tilesIn(key);
        const check = (name, words) => el("label.check", {}, el("input", { type: "checkbox", name, checked: row[name] === true }), words);
        return [
            this.#heading(`Stack ${key.split("/")[1]}`, key, [row.family, `place ${row.order}`, `${tiles.length} of 10 tiles`, row.placement].filter(Boolean).join(" · ")),
            el("div.event-buttons", { role: "group", "aria-label": "Arrange" }, chip("earlier", "Earlier"), chip("later", "Later"), chip("remove", "Remove with its tiles")),
            check("smart", "Smart: turns to what is relevant"), check("suggest", "Takes suggestions"),
            el("ol.members", { "aria-label": "Tiles of the stack" }, tiles.map(tile => el("li", {}, el("button.chip", { type: "button", data: { act: "select", key: tile.key } }, tile.words)))),
        ];
    }

    async #act(name, from) {
        const { board } = this;
        const key = this.#key;
        if (name === "select") return board.select(from.dataset.key);
        const rev = this.#rev;
        let isDone = false;
        if (name === "configure") {
            const parameters = parametersOf(board.offer(board.full.get(key)?.row.widget), board.full.get(key)?.row.configuration ?? {});
            isDone = await attempt(this.refusal, () => board.send(key, { do: "configure", configuration: configurationIn(from, parameters) }, rev));
            if (isDone || /meanwhile/.test(this.refusal.textContent)) this.#isBegun = false;
        } else if (name === "set") {
            isDone = await attempt(this.refusal, () => board.send(key, { do: "stack", [from.name]: from.checked }, rev));
            if (!isDone) from.checked = !from.checked;
        } else if (name === "stack") {
            isDone = await attempt(this.refusal, () => board.putOn(key, this.body.querySelector("#onto").value, rev));
        } else {
            isDone = await attempt(this.refusal, () => board.perform(name, key, rev));
        }
        if (isDone) this.note.replaceChildren();
        if (this.#key === key) this.show();
    }

    /** Shows what became of something that was done on the board itself, to what is selected. */
    async run(run) {
        const isDone = await attempt(this.refusal, run);
        if (!isDone) this.refusal.scrollIntoView?.({ block: "nearest" });
        this.show();
        return isDone;
    }
}

/** The panel that places a widget. */
export class Placing {
    constructor(board) {
        this.board = board;
        this.refusal = refusalPlace();
        this.kind = el("select", { id: "place-kind", name: "widget" });
        this.family = el("select", { id: "place-family", name: "family" });
        this.stack = el("select", { id: "place-stack", name: "stack" });
        this.parameters = el("div.event-form");
        const part = (words, input) => el("div.field", {}, el("label", { for: input.id }, words), input);
        this.about = el("p.quiet");
        this.none = el("p.quiet", { role: "status" });
        this.form = el("form.placing", {}, el("div.tools", {}, part("Widget", this.kind), part("Family", this.family), part("In", this.stack)), this.about, this.parameters,
            el("button.primary", { type: "submit" }, "Place it"));
        this.root = el("section.panel-of-page", { "aria-labelledby": "placing", data: { testid: "placing" } }, el("h2", { id: "placing" }, "Place a widget"), this.none, this.form, this.refusal);
        this.kind.addEventListener("change", () => this.#choose());
        this.form.addEventListener("submit", event => {
            event.preventDefault();
            this.#place();
        });
    }

    get #offer() { return this.board.gallery.find(one => one.name === this.kind.value); }

    /** What there is to place, once it is known, or why it is not. */
    show(refusal = null) {
        const { gallery } = this.board;
        this.form.hidden = gallery.length === 0;
        this.none.replaceChildren(refusal ? `What can be placed is not known: ${wordsOf(refusal)}` : gallery.length ? "" : "No kind of widget is offered on this device.");
        this.kind.replaceChildren(...gallery.map(one => el("option", { value: one.name }, one.title ?? one.name)));
        this.#choose();
    }

    #choose() {
        const offer = this.#offer;
        this.family.replaceChildren(...(offer?.families ?? []).map(one => el("option", { value: one }, one)));
        this.about.textContent = offer?.description ?? "";
        this.parameters.replaceChildren(...fields("place", offer?.parameters ?? [], offer?.recommended?.[0]?.configuration));
    }

    /** The stacks that there are. */
    showStacks() {
        const chosen = this.stack.value;
        const stacks = [...this.board.full.values()].filter(({ row }) => row.state === "stack").map(({ key }) => key.split("/")[1]).sort();
        renew(this.stack, el("option", { value: "" }, "a place of its own"), stacks.map(id => el("option", { value: id, data: { key: id } }, `the stack ${id}`)));
        if (this.stack.value !== chosen) this.stack.value = stacks.includes(chosen) ? chosen : "";
    }

    async #place() {
        const offer = this.#offer;
        if (!offer) return;
        const body = { do: "add", widget: offer.name, family: this.family.value };
        if (offer.parameters?.length) body.configuration = configurationIn(this.parameters, offer.parameters);
        if (this.stack.value) body.stack = this.stack.value;
        const key = this.board.newKey("t");
        if (await attempt(this.refusal, () => this.board.send(key, body))) this.board.selectSoon(key);
    }
}
