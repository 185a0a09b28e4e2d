// The state diagram of a kind: a drawing that the gateway makes, lit here. Where it makes none the section stays hidden.

import { clock, countdown } from "./clock.js";
import { el } from "./dom.js";
import { whole } from "./machine.js";

/** Elements that a drawing may have. Anything else in it is left out, whatever a kind's author named a state. */
const ALLOWED = new Set([
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title", "desc", "defs", "marker",
]);
/** A drawing is made smaller to fit, down to this; then it is scrolled. */
const SMALLEST = 0.72;
/** As wide as half of a page's column. */
const NARROW = 400;

function cleaned(element) {
    for (const child of [...element.children]) {
        if (!ALLOWED.has(child.localName)) child.remove();
        else cleaned(child);
    }
    for (const { name } of [...element.attributes]) {
        if (/^on/i.test(name) || /href$/i.test(name) || name === "style") element.removeAttribute(name);
    }
    return element;
}

/** The diagram of one kind. */
export class Diagram {
    #active = new Set();
    #before = new Set();
    #badges = new Map();
    /** Of the definition: new names for events that come in. */
    accept = {};

    constructor(kind) {
        this.kind = kind;
        this.place = el("div.diagram", { tabindex: 0, role: "group", "aria-label": `State diagram of ${kind}` });
        this.root = el("section.panel-of-page.states", { "aria-labelledby": "diagram-title", hidden: true }, el("h2", { id: "diagram-title" }, "States"), this.place);
    }

    /** Reads the drawing. Answers whether there is one. */
    async load() {
        const answer = await fetch(`/v1/kinds/${encodeURIComponent(this.kind)}/diagram`, { headers: { Accept: "image/svg+xml, application/problem+json" } }).catch(() => null);
        return answer?.ok ? this.show(await answer.text()) : false;
    }

    /** Shows a drawing. Answers whether it is one. */
    show(text) {
        const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
        if (drawing.localName !== "svg") return false;
        const svg = document.importNode(cleaned(drawing), true);
        const width = Number(svg.getAttribute("width"));
        if (width > 0) svg.style.minWidth = `${Math.round(width * SMALLEST)}px`;
        this.root.dataset.wide = String(width * SMALLEST > NARROW);
        this.#badges.clear();
        this.place.replaceChildren(svg);
        this.root.hidden = false;
        this.#mark();
        return true;
    }

    /** Nothing is drawn. */
    clear() {
        this.root.hidden = true;
        this.place.replaceChildren();
        this.#badges.clear();
    }

    /** Lights the active states, with those around them. */
    light(configuration) {
        const active = whole(configuration);
        if (active.size === this.#active.size && [...active].every(path => this.#active.has(path))) return;
        this.#before = this.#active;
        this.#active = active;
        this.#mark();
    }

    #mark() {
        for (const state of this.place.querySelectorAll("[data-state]")) state.dataset.active = String(this.#active.has(state.dataset.state));
    }

    /** Flashes the edge that an event took: out of what was active before, into what is now. */
    flash(event) {
        const name = Object.hasOwn(this.accept, event) ? this.accept[event] : event;
        const taken = [...this.place.querySelectorAll(".edge")].filter(({ dataset: { from, to } }) =>
            (this.#before.has(from) || this.#active.has(from)) && this.#active.has(to ?? ""));
        const exact = taken.filter(edge => edge.dataset.event === name);
        const timers = taken.filter(edge => event === "deadline" && edge.dataset.after !== undefined && this.#before.has(edge.dataset.from));
        const any = taken.filter(edge => edge.dataset.event === "*" && this.#before.has(edge.dataset.from));
        for (const edge of exact.length ? exact : timers.length ? timers : any) {
            edge.classList.remove("flash");
            // Asked for, the layout makes an animation begin anew.
            edge.getBoundingClientRect();
            edge.classList.add("flash");
            setTimeout(() => edge.classList.remove("flash"), 1600);
        }
    }

    /**
     * Marks the timers that run: their edges, and in a badge at the state how long they run yet.
     *
     * @param {{state?: string, after?: number, at: number}[]} timers Of a `full` row.
     */
    time(timers) {
        const running = new Map();
        for (const { state, after, at } of timers ?? []) if (state !== undefined) running.set(`${state} ${after}`, at);
        for (const edge of this.place.querySelectorAll("[data-after]")) edge.classList.toggle("armed", running.has(`${edge.dataset.from} ${edge.dataset.after}`));
        const first = new Map();
        for (const { state, at } of timers ?? []) if (state !== undefined && !first.has(state)) first.set(state, at);
        this.#badge("timer", first, (text, at) => {
            text.dataset.timer = at;
            return countdown(at, clock.now());
        });
    }

    /** Writes how many activities are in each state. */
    count(counts) {
        for (const state of this.place.querySelectorAll("[data-state]")) state.dataset.count = String(counts.get(state.dataset.state) ?? 0);
        this.#badge("count", counts, (_, count) => String(count));
    }

    /** A badge on the corner of each state that has a value. */
    #badge(kind, values, textOf) {
        for (const state of this.place.querySelectorAll("[data-state]")) {
            const name = state.dataset.state;
            let badge = this.#badges.get(name);
            if (!values.has(name)) {
                badge?.remove();
                this.#badges.delete(name);
                continue;
            }
            if (!badge) {
                badge = el(`g.state-badge.${kind}`, {}, el("rect", { height: 17, rx: 8.5 }), el("text", { "text-anchor": "middle", "font-size": 11, "font-weight": 600 }));
                state.closest("svg").append(badge);
                this.#badges.set(name, badge);
            }
            const [box, text] = badge.children;
            const words = textOf(text, values.get(name));
            if (text.textContent !== words) text.textContent = words;
            const frame = state.querySelector("rect");
            const [x, y, width] = ["x", "y", "width"].map(part => Number(frame.getAttribute(part)));
            const room = Math.max(22, words.length * 6.6 + 12);
            const place = { x: x + width - room + 7, y: y - 8, width: room };
            for (const [part, value] of Object.entries(place)) box.setAttribute(part, value);
            text.setAttribute("x", place.x + room / 2);
            text.setAttribute("y", y + 4.5);
        }
    }
}
