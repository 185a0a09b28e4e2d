// Cards for the pages of others: <telltale-card key="coffee-order/1042" view="lockscreen">, <telltale-stack account="alice" view="watch">.
// They draw what the board draws, from the same code.

import { FACES } from "./cards.js";
import { clock, tick } from "./clock.js";
import { isControl, tapping, tile } from "./controls.js";
import { eachFrame, el, renew } from "./dom.js";
import { icon, learnIcon } from "./icons.js";
import { connect } from "./telltale.js";
import { present } from "./views.js";
import { widget } from "./widgets.js";

/** The gateway that this module is from. */
const HOME = new URL(import.meta.url).origin;
/** How long a note about a tap stands, in milliseconds. */
const SAID = 6000;
const VIEWS = Object.fromEntries(Object.entries(FACES).map(([name, face]) => [name.toLowerCase(), face]));

const clients = new Map();

/** The client of a gateway. A page with tokens gives its own: `use(connect(gateway, { token }))`. */
function clientOf(gateway) {
    if (!clients.has(gateway)) use(connect(gateway), gateway);
    return clients.get(gateway);
}

/** Has elements follow by this client. */
export function use(client, gateway = HOME) {
    clock.follow(client);
    clients.set(gateway, client);
    for (const element of shown) element.restart();
}

/** One sheet for all elements. A sheet that is made by the page's policy of styles is none of its own. */
const sheets = ["views.css", "widgets.css", "elements.css"].map(name => {
    const sheet = new CSSStyleSheet();
    sheet.isThere = fetch(new URL(`./${name}`, import.meta.url)).then(answer => answer.text()).then(text => sheet.replace(text));
    return sheet;
});
const areStyled = Promise.all(sheets.map(sheet => sheet.isThere)).catch(() => {});

const shown = new Set();
setInterval(() => { for (const element of shown) tick(element.shadowRoot); }, 1000);

class TelltaleElement extends HTMLElement {
    static observedAttributes = ["key", "view", "account", "placement", "gateway"];

    #place = el("div.place", { part: "place", hidden: true });
    #note = el("p.note", { part: "note", role: "status" });
    #follow = null;
    #isDue = false;
    #noted = 0;

    constructor() {
        super();
        const root = this.attachShadow({ mode: "open" });
        root.adoptedStyleSheets = sheets;
        root.append(this.#place, this.#note);
        root.addEventListener("click", event => tapping(this.client, text => this.#say(text))(event));
        areStyled.then(() => { this.#place.hidden = false; });
        this.draw = eachFrame(() => this.#draw());
    }

    get client() { return clientOf(this.getAttribute("gateway") ?? HOME); }

    connectedCallback() {
        shown.add(this);
        this.restart();
    }

    disconnectedCallback() {
        shown.delete(this);
        this.#follow?.close();
        this.#follow = null;
    }

    attributeChangedCallback() { if (this.isConnected) this.restart(); }

    /** Once for all attributes that a program sets. */
    restart() {
        if (this.#isDue) return;
        this.#isDue = true;
        queueMicrotask(() => {
            this.#isDue = false;
            if (!this.isConnected) return;
            const before = this.#follow;
            try {
                const account = this.getAttribute("account") ?? undefined;
                this.#follow = this.start({ account, placement: this.getAttribute("placement") ?? undefined }, change => this.#take(change));
            } catch (error) {
                this.#follow = null;
                this.#say(error.message);
            }
            before?.close();
            this.draw();
        });
    }

    #take(change) {
        if (change.type === "end") this.#say(change.error.message);
        this.dispatchEvent(new CustomEvent("change", { detail: change }));
        this.draw();
    }

    #draw() {
        const { rows, isCurrent } = this.#follow ?? { rows: new Map() };
        // Rows of before are drawn as old ones, until the connection is back.
        this.toggleAttribute("data-old", rows.size > 0 && !isCurrent);
        const entries = [...rows.values()].map(entry => (isCurrent ? entry : { ...entry, row: { ...entry.row, stale: true } }));
        for (const { key, row } of entries) learnIcon(key, row, this.draw, one => this.client.get(one, { view: "desktop" }));
        const pictures = entries.length ? this.pictures(entries).filter(Boolean) : [];
        for (const picture of pictures) for (const one of [picture, ...picture.querySelectorAll("[class]")]) one.setAttribute("part", one.getAttribute("class"));
        renew(this.#place, pictures);
    }

    #say(text) {
        clearTimeout(this.#noted);
        this.#note.textContent = text;
        this.#noted = setTimeout(() => { this.#note.textContent = ""; }, SAID);
    }
}

/** One key as a view shows it. */
function picture({ key, rev, row }, pick = one => one) {
    if (isControl(row)) return tile({ key, rev, row });
    if (row.entries) return widget(row, clock.now());
    const drawn = pick(row);
    return drawn?.presentation ? present(drawn, row, { icon: icon(key, row), key, rev }) : null;
}

class Card extends TelltaleElement {
    #face() { return VIEWS[this.getAttribute("view")?.toLowerCase() ?? "lockscreen"] ?? { view: this.getAttribute("view"), pick: row => row }; }

    start(options, call) { return this.client.follow(this.getAttribute("key") ?? "", { ...options, view: this.#face().view }, call); }

    pictures(entries) { return entries.map(entry => picture(entry, this.#face().pick)); }
}

/** What a device of an account shows, the most important first. */
class Stack extends TelltaleElement {
    start(options, call) {
        return this.client.follow(this.getAttribute("key") ?? "*", { ...options, view: this.getAttribute("view") ?? "phone" }, call);
    }

    pictures(entries) {
        const order = ({ row }) => row.order ?? 1e9;
        const pick = row => (row.presentation ? row : row.lockScreen);
        return [...entries].filter(({ row }) => !isControl(row)).sort((one, other) => order(one) - order(other) || (one.key < other.key ? -1 : 1)).map(entry => picture(entry, pick));
    }
}

customElements.define("telltale-card", Card);
customElements.define("telltale-stack", Stack);
