// All activities as cards, and all controls. Cards out of sight are drawn when they come into it.

import { FACES, card, lifecycleOf } from "./cards.js";
import { tick } from "./clock.js";
import { isControl, tileWithPage } from "./controls.js";
import { eachFrame, el, morph } from "./dom.js";
import { learnIcon } from "./icons.js";
import { Link } from "./link.js";
import { showLink } from "./main.js";
import { Picker } from "./picker.js";

/** Cards on the page at most: those that began or changed last. */
const MOST = 1000;

/** Draws the page of everything. */
export function home(main) {
    document.title = "Activities · Telltale";
    new Home(main);
}

class Home {
    #cards = new Map();
    #dirty = new Set();
    /** Cards whose picture waits until they come into sight. */
    #waiting = new Set();
    #visible = new Set();
    #face = FACES.lockScreen;
    #controlsAreDirty = true;

    constructor(main) {
        this.filters = { text: "", kind: "", lifecycle: "" };
        const query = new URLSearchParams(location.search);
        this.#face = Object.hasOwn(FACES, query.get("as")) ? FACES[query.get("as")] : this.#face;
        this.cards = el("div.cards");
        this.count = el("span.count", { role: "status" });
        this.none = el("p.quiet", { hidden: true }, "No activity matches.");
        this.controls = el("div.control-cells");
        this.controlsTitle = el("h2.section-title", { hidden: true }, "Controls");
        this.picker = new Picker(query);
        main.replaceChildren(el("div.home", {},
            el("div.heading", {}, el("h1", {}, "Activities"), this.count), this.#tools(), this.picker.root, this.cards, this.none, this.controlsTitle, this.controls));
        this.drawAll = () => this.#drawAll();
        this.observer = new IntersectionObserver(entries => {
            for (const { target, isIntersecting } of entries) {
                const key = target.dataset.key;
                target.classList.toggle("away", !isIntersecting);
                if (!isIntersecting) { this.#visible.delete(key); continue; }
                this.#visible.add(key);
                if (this.#waiting.delete(key)) this.#changed(key);
                else tick(target);
            }
        }, { rootMargin: "300px" });
        this.draw = eachFrame(() => this.#draw());
        this.#follow();
    }

    #tools() {
        const field = (name, input, wide) => el(`div.field${wide ? ".wide" : ""}`, {}, el("label", { for: input.id }, name), input);
        const text = el("input", { id: "filter-text", type: "search", placeholder: "order, state, text …", autocomplete: "off" });
        this.kind = el("select", { id: "filter-kind" }, el("option", { value: "" }, "All kinds"));
        const lifecycle = el("select", { id: "filter-lifecycle" },
            ["", "active", "stale", "ended", "pending"].map(name => el("option", { value: name }, name ? name[0].toUpperCase() + name.slice(1) : "Any")));
        const face = el("select", { id: "face" }, Object.entries(FACES).map(([name, one]) => el("option", { value: name, selected: one === this.#face }, one.name)));
        text.addEventListener("input", () => { this.filters.text = text.value.toLowerCase(); this.#filter(); });
        this.kind.addEventListener("change", () => { this.filters.kind = this.kind.value; this.#filter(); });
        lifecycle.addEventListener("change", () => { this.filters.lifecycle = lifecycle.value; this.#filter(); });
        face.addEventListener("change", () => {
            this.#face = FACES[face.value];
            const url = new URL(location.href);
            url.searchParams.set("as", face.value);
            history.replaceState(null, "", url);
            this.link.close();
            this.#follow();
        });
        return el("div.tools", { role: "search" }, field("Find", text, true), field("Kind", this.kind), field("Life-cycle", lifecycle), field("See as", face));
    }

    #follow() {
        this.link = new Link(["*,full", `*,${this.#face.view}`]);
        showLink(this.link);
        this.link.addEventListener("change", event => this.#changed(event.detail.key));
        this.link.addEventListener("state", this.draw);
        this.#drawAll();
    }

    #drawAll() {
        for (const key of this.#cards.keys()) this.#dirty.add(key);
        this.draw();
    }

    #changed(key) {
        this.#dirty.add(key);
        this.draw();
    }

    #draw() {
        for (const key of this.#dirty) {
            const full = this.link.row(0, key);
            const shown = this.link.row(1, key);
            const old = this.#cards.get(key);
            if (isControl(full?.row) || isControl(shown?.row)) {
                this.#controlsAreDirty = true;
                this.#dirty.delete(key);
                continue;
            }
            if (!full && !shown) {
                if (this.link.state === "connecting" && old) continue;
                this.#dirty.delete(key);
                if (old) this.#forget(old);
                else this.#controlsAreDirty = true;
                continue;
            }
            if (old && !this.#visible.has(key)) {
                // Out of sight: its facts are kept, its picture waits.
                const facts = { state: full?.row.state ?? "", rev: String(full?.rev ?? shown?.rev), lifecycle: lifecycleOf(full?.row) };
                for (const [name, fact] of Object.entries(facts)) if (old.dataset[name] !== fact) old.dataset[name] = fact;
                old.hidden = !this.#matches(key);
                this.#dirty.delete(key);
                this.#waiting.add(key);
                continue;
            }
            this.#dirty.delete(key);
            if (!old && this.#cards.size >= MOST) this.#forget(this.cards.lastElementChild);
            if (shown) learnIcon(key, shown.row, this.drawAll);
            const fresh = card(key, full, shown, this.#face);
            if (old) {
                morph(old, fresh);
                old.hidden = !this.#matches(key);
            } else {
                this.#cards.set(key, fresh);
                fresh.hidden = !this.#matches(key);
                this.#knowKind(key);
                // The newest stands first, where a person looks for it.
                this.cards.prepend(fresh);
                this.observer.observe(fresh);
            }
        }
        if (this.#controlsAreDirty) this.#drawControls();
        this.#count();
    }

    /** Takes a card away. A change of its activity gives it one again. */
    #forget(card) {
        const { key } = card.dataset;
        this.observer.unobserve(card);
        for (const one of [this.#cards, this.#visible, this.#waiting]) one.delete(key);
        card.remove();
    }

    #drawControls() {
        this.#controlsAreDirty = false;
        const view = this.#face.view === "phone" ? 1 : 0;
        const entries = [...this.link.rows(view).values()].filter(entry => isControl(entry.row)).sort((one, other) => (one.key < other.key ? -1 : 1));
        const cells = new Map([...this.controls.children].map(cell => [cell.dataset.key, cell]));
        for (const entry of entries.slice(0, MOST)) {
            const fresh = tileWithPage(entry);
            const old = cells.get(entry.key);
            cells.delete(entry.key);
            if (old) morph(old, fresh);
            else this.controls.append(fresh);
        }
        for (const gone of cells.values()) gone.remove();
        this.controlsTitle.hidden = entries.length === 0;
    }

    #knowKind(key) {
        const kind = key.split("/")[0];
        if ([...this.kind.options].some(option => option.value === kind)) return;
        this.kind.append(el("option", { value: kind }, kind));
    }

    #matches(key) {
        const { text, kind, lifecycle } = this.filters;
        const full = this.link.row(0, key)?.row;
        if (kind && !key.startsWith(`${kind}/`)) return false;
        if (lifecycle && lifecycleOf(full) !== lifecycle) return false;
        if (!text) return true;
        const facts = `${key} ${full?.state ?? ""} ${JSON.stringify(full?.attributes ?? {})} ${JSON.stringify(full?.content ?? {})}`;
        return facts.toLowerCase().includes(text);
    }

    #filter() {
        for (const [key, element] of this.#cards) element.hidden = !this.#matches(key);
        this.#count();
    }

    #count() {
        const all = Math.max(this.#cards.size, this.link.rows(0).size - this.controls.children.length);
        const isFiltered = Object.values(this.filters).some(Boolean);
        const shown = isFiltered ? [...this.#cards.values()].filter(element => !element.hidden).length : this.#cards.size;
        const words = `${shown === all ? all : `${shown} of ${all}`} ${all === 1 ? "activity" : "activities"} · sequence ${this.link.seq}`;
        if (this.count.textContent !== words) this.count.textContent = words;
        const isLive = ["live", "resumed", "reset"].includes(this.link.state);
        this.none.hidden = shown > 0 || !isLive;
        this.none.textContent = all ? "No activity matches." : "No activity yet. Post one: curl -d '{}' " + `${location.origin}/coffee-order/8/start`;
    }
}
