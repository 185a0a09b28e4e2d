// The state diagram of a kind: a drawing that the gateway makes, lit here. Where it makes none the section stays hidden.

import { el } from "./dom.js";

/** Elements that a drawing may have. Anything else in it is left out, whatever a kind's author named a state. */
const ALLOWED = new Set([
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title", "desc", "defs", "marker", "style",
]);

function cleaned(element) {
    for (const child of [...element.children]) {
        if (!ALLOWED.has(child.localName) || child.localName === "style") child.remove();
        else cleaned(child);
    }
    for (const { name } of [...element.attributes]) {
        if (/^on/i.test(name) || /href$/i.test(name)) element.removeAttribute(name);
    }
    return element;
}

/** The diagram of one kind. */
export class Diagram {
    constructor(kind) {
        this.kind = kind;
        this.place = el("div.diagram", { tabindex: 0, role: "group", "aria-label": `State diagram of ${kind}` });
        this.root = el("section.panel-of-page", { "aria-labelledby": "diagram-title", hidden: true }, el("h2", { id: "diagram-title" }, "States"), this.place);
    }

    /** Reads the drawing. Answers whether there is one. */
    async load() {
        const answer = await fetch(`/v1/kinds/${encodeURIComponent(this.kind)}/diagram`, { headers: { Accept: "image/svg+xml" } }).catch(() => null);
        if (!answer?.ok) return false;
        const drawing = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
        if (drawing.localName !== "svg") return false;
        this.place.replaceChildren(document.importNode(cleaned(drawing), true));
        for (const state of this.place.querySelectorAll("[data-state]")) state.dataset.testid = "diagram-state";
        this.root.hidden = false;
        return true;
    }

    /** Lights the active states, with those around them, and flashes the edge that an event took. */
    light(configuration, event = null) {
        const active = new Set();
        for (const path of configuration ?? []) {
            const names = path.split(".");
            names.forEach((_, index) => active.add(names.slice(0, index + 1).join(".")));
        }
        for (const state of this.place.querySelectorAll("[data-state]")) state.dataset.active = String(active.has(state.dataset.state));
        if (!event) return;
        for (const edge of this.place.querySelectorAll("[data-event]")) {
            if (edge.dataset.event !== event || !active.has(edge.dataset.to ?? "")) continue;
            edge.classList.add("flash");
            setTimeout(() => edge.classList.remove("flash"), 1600);
        }
    }

    /** Writes how many activities are in each state. */
    count(counts) {
        for (const state of this.place.querySelectorAll("[data-state]")) state.dataset.count = String(counts.get(state.dataset.state) ?? 0);
    }
}
