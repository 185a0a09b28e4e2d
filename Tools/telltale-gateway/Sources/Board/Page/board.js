// The page of one device's board: drawn as the device shows it, and arranged by pointer, by keyboard and by buttons.

import { ask, entityPath } from "./api.js";
import { Inspector, Placing, arrange } from "./arrange.js";
import { clock } from "./clock.js";
import { eachFrame, el, renew } from "./dom.js";
import { Link } from "./link.js";
import { showLink } from "./main.js";
import { deviceOf, freeID, idOf, placesOf, positionBeside, positionsOf } from "./places.js";
import { widget } from "./widgets.js";

const DEVICES = { phone: "iPhone", pad: "iPad", carplay: "CarPlay", watch: "Apple Watch", standby: "StandBy", desktop: "Mac", vision: "Vision" };
/** A pointer that moves by less than this, in pixels, selects. */
const STILL = 6;

/** Draws the page of a board, and keeps it drawn. */
export function board(main, name) {
    document.title = `${name} · Telltale`;
    new BoardPage(main, name);
}

class BoardPage {
    gallery = [];
    #soon = null;
    #places = [];
    #drag = null;

    constructor(main, name) {
        this.name = name;
        const query = new URLSearchParams(location.search);
        this.surface = Object.hasOwn(DEVICES, query.get("as")) ? query.get("as") : deviceOf(name);
        this.account = query.get("account") ?? "";
        this.draw = eachFrame(() => this.#draw());
        this.inspector = new Inspector(this);
        this.placing = new Placing(this);
        this.screen = el("div.board-screen");
        this.elsewhere = el("section.elsewhere", { "aria-labelledby": "elsewhere", hidden: true });
        main.replaceChildren(el("div.home.board-page", {},
            el("div.heading", {}, el("div", {}, el("h1", { dir: "auto" }, name), el("p.quiet", {}, "What a device shows, and where it is arranged.")), this.#tools()),
            el("div.board-and-panels", {},
                el("div.board-place", {}, this.screen, this.elsewhere,
                    el("p.quiet.hint", {}, "Arrow keys go from tile to tile, Alt with an arrow key moves one, Delete removes it. A tile that is dropped on the middle of another one makes a stack.")),
                el("div.panels", {}, this.inspector.root, this.placing.root))));
        this.screen.addEventListener("click", event => this.#clicked(event));
        this.screen.addEventListener("keydown", event => this.#pressed(event));
        this.screen.addEventListener("pointerdown", event => this.#grab(event));
        this.screen.addEventListener("pointermove", event => this.#pull(event));
        for (const name of ["pointerup", "pointercancel"]) this.screen.addEventListener(name, event => this.#drop(event));
        this.#follow();
    }

    #tools() {
        const device = el("select", { id: "board-device" }, Object.entries(DEVICES).map(([name, words]) => el("option", { value: name, selected: name === this.surface }, words)));
        const account = el("input", { id: "board-account", value: this.account, placeholder: "everybody's", autocomplete: "off", maxlength: 64 });
        const again = () => {
            [this.surface, this.account] = [device.value, account.value.trim()];
            const url = new URL(location.href);
            url.searchParams.set("as", this.surface);
            if (this.account) url.searchParams.set("account", this.account);
            else url.searchParams.delete("account");
            history.replaceState(null, "", url);
            this.link.close();
            this.#follow();
        };
        device.addEventListener("change", again);
        account.addEventListener("change", again);
        const field = (words, input) => el("div.field", {}, el("label", { for: input.id }, words), input);
        return el("div.tools", {}, field("Seen as", device), field("Account", account));
    }

    #follow() {
        this.inspector.select(null);
        this.link = new Link([`${this.name}/*,full`, `${this.name}/*,${this.surface}`], { surface: this.surface, account: this.account || undefined });
        showLink(this.link);
        this.link.addEventListener("change", this.draw);
        this.link.addEventListener("state", this.draw);
        const query = new URLSearchParams({ surface: this.surface, ...(this.account ? { account: this.account } : {}) });
        this.placing.show();
        ask("GET", `/v1/gallery?${query}`).then(({ data }) => {
            this.gallery = data.widgets;
            this.placing.show();
        }).catch(refusal => {
            this.gallery = [];
            this.placing.show(refusal);
        }).finally(this.draw);
        this.draw();
    }

    // Answers to the panels.

    get full() { return this.link.rows(0); }
    get rows() { return this.link.rows(1); }

    /** The full row of a tile or a stack. A suggestion has none, and is told by the device's row alone. */
    entry(key) {
        const shown = this.rows.get(key);
        return this.full.get(key) ?? (shown?.row.suggested ? shown : undefined);
    }

    offer(key) { return this.gallery.find(one => one.name === key?.split("/")[0]); }

    newKey(letter) { return `${this.name}/${freeID(this.full, this.name, letter)}`; }

    /** All that the panel about a tile or a stack tells beside its own row. */
    shapeOf(key) { return [this.surface, this.partners(key), this.tilesIn(key), this.rows.get(key)?.row.unavailable, this.gallery.length]; }

    /** What a tile of the same family can be stacked with. */
    partners(key) {
        const family = this.full.get(key)?.row.family;
        // The Lock Screen and a watch have no stacks.
        if (!family || family.startsWith("accessory")) return [];
        return [...this.full.values()].filter(other => other.key !== key && other.row.family === family && !other.row.stack)
            .map(other => ({ key: other.key, words: other.row.state === "stack" ? `the stack ${idOf(other.key)}` : `${this.#title(other)} (${idOf(other.key)})` }))
            .sort((one, other) => (one.key < other.key ? -1 : 1));
    }

    tilesIn(key) {
        return [...this.full.values()].filter(({ row }) => row.stack === idOf(key)).sort((one, other) => one.row.position - other.row.position)
            .concat([...this.rows.values()].filter(({ row }) => row.suggested && row.stack === idOf(key)))
            .map(entry => ({ key: entry.key, words: `${this.#title(entry)} (${entry.row.suggested ? "suggested" : idOf(entry.key)})` }));
    }

    #title({ row }) { return this.offer(row.widget)?.title ?? row.widget; }

    // Requests.

    async send(key, body, rev) { return (await arrange(key, body, { rev, account: this.account })).data; }

    /** Does what a button of the panel, or a key, says. */
    perform(name, key, rev) {
        const { row } = this.full.get(key) ?? { row: {} };
        switch (name) {
            case "earlier":
            case "later": return this.#step(key, name === "later", rev);
            case "out": return this.send(key, { do: "move", stack: "none" }, rev);
            case "pin": return this.send(key, { do: "pin", ...(row.stack ? { pos: row.position } : { pos: Math.min(10, Math.max(1, this.#places.findIndex(place => place.key === key) + 1)) }) }, rev);
            default: return this.send(key, { do: name }, rev);
        }
    }

    /** Before the one before it, or behind the one behind it: of those that the device shows. */
    #step(key, isLater, rev) {
        const positions = positionsOf(this.full);
        const own = positions.get(key);
        const row = own?.stack ? this.tilesIn(`${this.name}/${own.stack}`).map(one => one.key) : this.#places.map(place => place.key);
        const other = row[row.indexOf(key) + (isLater ? 1 : -1)];
        if (!own || !other) return Promise.resolve();
        return this.send(key, { do: "move", pos: positions.get(other)?.position ?? own.position }, rev);
    }

    /** Puts a tile on a stack; on another tile it makes one of both, where that tile stands. */
    async putOn(key, other, rev) {
        const target = this.full.get(other);
        if (target?.row.state === "stack") return this.send(key, { do: "move", stack: idOf(other) }, rev);
        const [from, to] = [this.full.get(key).row.order, target.row.order];
        const stack = this.newKey("s");
        // At the end, where it moves nothing that the person saw.
        await this.send(stack, { do: "stack", family: target.row.family });
        let taken;
        try {
            taken = await this.send(key, { do: "move", stack: idOf(stack) }, rev);
        } catch (refusal) {
            await this.send(stack, { do: "remove" }).catch(() => {});
            throw refusal;
        }
        try {
            // The other tile may have moved up where this one has left. What another person did to it is refused.
            const query = new URLSearchParams({ view: "full", ...(this.account ? { account: this.account } : {}) });
            const { data } = await ask("GET", `${entityPath(other)}?${query}`);
            await this.send(other, { do: "move", stack: idOf(stack), pos: 1 }, data.rev === taken.rev ? data.rev : target.rev);
        } catch (refusal) {
            // The stack goes with its last tile: nothing is left behind of what could not be done.
            await this.send(key, { do: "move", stack: "none", pos: from }).catch(() => {});
            throw refusal;
        }
        return this.send(stack, { do: "move", pos: from < to ? to - 1 : to });
    }

    // Drawing.

    #draw() {
        const now = clock.now();
        const isKnown = this.link.state !== "connecting" || this.rows.size > 0;
        this.#places = placesOf(this.rows, this.full, now);
        if (this.#soon && this.full.has(this.#soon)) {
            this.inspector.select(this.#soon);
            this.#soon = null;
        }
        if (this.inspector.key && isKnown && !this.entry(this.inspector.key) && this.link.state !== "connecting") this.inspector.select(null);
        const focused = document.activeElement?.closest?.(".board-tile")?.dataset.key;
        this.screen.dataset.surface = this.surface;
        const group = ({ family }) => (!family.startsWith("accessory") || this.surface === "watch" ? "widgets" : family === "accessoryInline" ? "inlines" : "accessories");
        const grid = (name, words) => {
            const places = this.#places.filter(place => group(place) === name);
            return places.length ? el(`ul.board-grid.${name}`, { "aria-label": words, data: { key: name } }, places.map(place => this.#tile(place, now))) : null;
        };
        renew(this.screen,
            grid("inlines", "Lock Screen, above the clock"), grid("accessories", "Lock Screen"), grid("widgets", DEVICES[this.surface]),
            this.#places.length || !isKnown ? null : el("p.nothing", {}, this.full.size ? "This device shows none of its tiles" : "Nothing stands on this board yet"));
        // A tile that moved lost the focus with its place in the document.
        if (focused && !this.screen.contains(document.activeElement)) this.screen.querySelector(`[data-key="${CSS.escape(focused)}"] .grip`)?.focus();
        this.#drawElsewhere();
        this.inspector.show();
        this.placing.showStacks();
    }

    #tile(place, now) {
        const { top, tiles, isStack } = place;
        const { row } = top;
        const number = tiles.indexOf(top) + 1;
        const isSelected = this.inspector.key === place.key || (isStack && tiles.some(tile => tile.key === this.inspector.key));
        const title = row.title ?? row.widget;
        const marks = [row.unavailable ? "unavailable" : null, row.suggested ? "suggested" : null, row.invalid?.length ? "changing" : null, row.pinned ? `pinned ${row.pinned}` : null].filter(Boolean);
        const words = [isStack ? `Stack ${place.id}, ${number} of ${tiles.length}: ${title}` : title, `place ${place.order}`, place.family, ...marks];
        return el("li.board-tile", { data: { key: place.key, testid: "tile", tile: top.key, family: place.family, stack: isStack ? tiles.length : null, selected: isSelected || null, suggested: row.suggested || null } },
            el("div.picture", { inert: true }, widget(row, now)),
            isStack && tiles.length > 1 ? el("span.dots", { "aria-hidden": "true" }, tiles.map(tile => el("i", tile === top ? { class: "on" } : {}))) : null,
            marks.length ? el("span.marks", { "aria-hidden": "true" }, marks.join(" · ")) : null,
            row.appName ? el("span.app-below", { "aria-hidden": "true", dir: "auto" }, row.appName) : null,
            el("button.grip", { type: "button", "aria-pressed": String(isSelected), "aria-label": words.join(", "), "aria-keyshortcuts": "Alt+ArrowLeft Alt+ArrowRight Delete" }));
    }

    /** What stands on the board and is not shown by this device. */
    #drawElsewhere() {
        const shown = new Set(this.#places.flatMap(place => [place.key, ...place.tiles.map(tile => tile.key)]));
        const others = [...this.full.values()].filter(({ key, row }) => !shown.has(key) && !(row.stack && shown.has(`${this.name}/${row.stack}`))).sort((one, other) => (one.key < other.key ? -1 : 1));
        this.elsewhere.hidden = others.length === 0;
        renew(this.elsewhere, el("h2", { id: "elsewhere" }, "Not shown on this device"),
            el("div.event-buttons", {}, others.map(entry => el("button.chip", { type: "button", data: { key: entry.key } }, entry.row.state === "stack" ? `Stack ${idOf(entry.key)}` : `${this.#title(entry)} (${idOf(entry.key)})`))));
        this.elsewhere.onclick = event => {
            const key = event.target.closest("button")?.dataset.key;
            if (key) this.select(key);
        };
    }

    select(key) {
        this.inspector.select(key);
        this.draw();
    }

    /** Selects what was sent for, once its row is there. */
    selectSoon(key) {
        this.#soon = key;
        this.draw();
    }

    // By hand.

    #placeOf(element) {
        const key = element?.closest?.(".board-tile")?.dataset.key;
        return this.#places.find(place => place.key === key);
    }

    #clicked(event) {
        const place = this.#placeOf(event.target);
        if (!place || this.#drag?.isMoving) return;
        this.select(place.key);
        if (event.detail === 0) document.getElementById("inspected")?.focus();
    }

    #pressed(event) {
        const place = this.#placeOf(event.target);
        if (!place) return;
        const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
        if (step && event.altKey) {
            event.preventDefault();
            return this.#do(place.key, () => this.#step(place.key, step > 0, this.full.get(place.key)?.rev));
        }
        if (step) {
            event.preventDefault();
            const next = this.#places[this.#places.indexOf(place) + step];
            return void (next && this.screen.querySelector(`[data-key="${CSS.escape(next.key)}"] .grip`)?.focus());
        }
        if (event.key !== "Delete") return;
        event.preventDefault();
        this.#do(place.key, () => this.send(place.key, { do: "remove" }, this.full.get(place.key)?.rev));
    }

    /** Selects a tile and does something to it; a refusal is shown beside it. */
    #do(key, run) {
        this.select(key);
        return this.inspector.run(run);
    }

    #grab(event) {
        // A finger scrolls; it has the buttons of the panel.
        if (event.pointerType === "touch" || event.button !== 0) return;
        const place = this.#placeOf(event.target);
        if (!place) return;
        this.#drag = { place, x: event.clientX, y: event.clientY, rev: this.full.get(place.key)?.rev, element: event.target.closest(".board-tile"), isMoving: false };
    }

    #pull(event) {
        const drag = this.#drag;
        if (!drag) return;
        const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
        if (!drag.isMoving && Math.hypot(x, y) < STILL) return;
        if (!drag.isMoving) this.screen.setPointerCapture(event.pointerId);
        drag.isMoving = true;
        drag.element.classList.add("is-dragged");
        drag.element.style.transform = `translate(${x}px, ${y}px)`;
        const target = this.#target(event, drag);
        for (const tile of this.screen.querySelectorAll("[data-drop]")) delete tile.dataset.drop;
        if (target) target.element.dataset.drop = target.drop;
    }

    /** Where a tile would go that is let go here. */
    #target(event, drag) {
        const element = [...this.screen.querySelectorAll(".board-tile")].find(tile => {
            const box = tile.getBoundingClientRect();
            return tile !== drag.element && event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
        });
        const place = this.#placeOf(element);
        if (!place) return null;
        const box = element.getBoundingClientRect();
        const across = this.surface === "watch" ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
        const canStack = !drag.place.isStack && place.family === drag.place.family && this.surface !== "watch" && !place.family.startsWith("accessory");
        return { element, place, drop: canStack && across > 0.3 && across < 0.7 ? "stack" : across < 0.5 ? "before" : "behind" };
    }

    #drop(event) {
        const drag = this.#drag;
        if (!drag) return;
        const target = drag.isMoving && event.type === "pointerup" ? this.#target(event, drag) : null;
        drag.element.classList.remove("is-dragged");
        drag.element.style.transform = "";
        for (const tile of this.screen.querySelectorAll("[data-drop]")) delete tile.dataset.drop;
        // The click that follows a drag selects nothing else.
        setTimeout(() => { this.#drag = null; });
        if (!target) return;
        const { key } = drag.place;
        if (target.drop === "stack") return this.#do(key, () => this.putOn(key, target.place.key, drag.rev));
        const positions = positionsOf(this.full);
        const pos = positionBeside(positions.get(key)?.position ?? 1, positions.get(target.place.key)?.position ?? 1, target.drop === "behind");
        this.#do(key, () => this.send(key, { do: "move", pos }, drag.rev));
    }
}
