// A text area for JSON that paints what it holds, and marks the lines that a lint names.

import { el } from "./dom.js";

/** Longer lines are not painted. */
const LONGEST = 4000;
const TOKEN = /("(?:[^"\\]|\\.)*"?)(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;

/** The pieces of a line: each text with what it is. */
function pieces(line) {
    if (line.length > LONGEST) return [[line, null]];
    const found = [];
    let end = 0;
    for (const match of line.matchAll(TOKEN)) {
        if (match.index > end) found.push([line.slice(end, match.index), null]);
        const [whole, text, colon] = match;
        if (text === undefined) {
            found.push([whole, match[3] === undefined ? "word" : "number"]);
        } else if (colon === undefined) {
            // A template stands out in its text.
            for (const part of text.split(/(\{\{.*?\}\})/)) if (part) found.push([part, part.startsWith("{{") ? "template" : "text"]);
        } else {
            found.push([text, "name"], [colon, null]);
        }
        end = match.index + whole.length;
    }
    if (end < line.length) found.push([line.slice(end), null]);
    return found;
}

function paintLine(line) {
    return el("div.line", {}, pieces(line).map(([text, kind]) => (kind ? el(`span.${kind}`, {}, text) : text)), line ? null : "\u200b");
}

/** The editor. `changed` is called with the text after each change by a person. */
export class Editor {
    #lines = [];
    #marks = new Map();
    #frame = 0;

    constructor(label) {
        this.area = el("textarea", {
            id: "kind-file", spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-label": label, "aria-describedby": "lint-state", rows: 20,
        });
        this.paint = el("pre.paint", { "aria-hidden": "true" });
        this.gutter = el("pre.gutter", { "aria-hidden": "true" });
        this.root = el("div.editor", {}, el("div.gutter-room", {}, this.gutter), el("div.code", {}, this.paint, this.area));
        this.area.addEventListener("input", () => { this.#draw(); this.changed?.(this.text); });
        this.area.addEventListener("scroll", () => this.#scroll());
        this.area.addEventListener("keydown", event => this.#typed(event));
    }

    get text() { return this.area.value; }

    set text(text) {
        this.area.value = text;
        this.#draw();
        this.#scroll();
    }

    /** A new line begins as far in as the one before. */
    #typed(event) {
        if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
        const { selectionStart, value } = this.area;
        const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
        const indent = /^ */.exec(line)[0] + (/[{[]\s*$/.test(line) ? "  " : "");
        if (!indent) return;
        event.preventDefault();
        // Keeps the browser's own undoing, where it has this.
        if (!document.execCommand?.("insertText", false, `\n${indent}`)) {
            this.area.setRangeText(`\n${indent}`, this.area.selectionStart, this.area.selectionEnd, "end");
            this.area.dispatchEvent(new Event("input"));
        }
    }

    #scroll() {
        cancelAnimationFrame(this.#frame);
        this.#frame = requestAnimationFrame(() => {
            const { scrollLeft, scrollTop } = this.area;
            this.paint.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
            this.gutter.style.transform = `translateY(${-scrollTop}px)`;
        });
    }

    /** Paints the lines that differ from those that are painted. */
    #draw() {
        const lines = this.text.split("\n");
        const old = this.#lines;
        let start = 0;
        while (start < lines.length && start < old.length && lines[start] === old[start]) start += 1;
        let same = 0;
        while (same < Math.min(lines.length, old.length) - start && lines[lines.length - 1 - same] === old[old.length - 1 - same]) same += 1;
        const children = this.paint.children;
        for (let count = old.length - same - start; count > 0; count--) children[start].remove();
        const fresh = document.createDocumentFragment();
        for (const line of lines.slice(start, lines.length - same)) fresh.append(paintLine(line));
        this.paint.insertBefore(fresh, children[start] ?? null);
        this.#lines = lines;
        while (this.gutter.childElementCount < lines.length) this.gutter.append(el("div", {}, String(this.gutter.childElementCount + 1)));
        while (this.gutter.childElementCount > lines.length) this.gutter.lastElementChild.remove();
        this.#show();
    }

    /** Marks lines. Each finding has a `line`, and a `severity`. */
    mark(findings) {
        this.#marks = new Map();
        for (const { line, severity } of findings) if (this.#marks.get(line) !== "error") this.#marks.set(line, severity);
        this.#show();
    }

    #show() {
        for (const place of [this.gutter, this.paint]) {
            for (const marked of place.querySelectorAll("[data-severity]")) delete marked.dataset.severity;
            for (const [line, severity] of this.#marks) if (place.children[line - 1]) place.children[line - 1].dataset.severity = severity;
        }
    }

    /** Puts the cursor to a place, counted from 1, and shows it. */
    go(line, column) {
        const before = this.text.split("\n").slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
        // Columns are counted in Unicode scalars, the area counts in units of UTF-16.
        const text = [...(this.#lines[line - 1] ?? "")].slice(0, column - 1).join("");
        const place = before + text.length;
        this.area.focus({ preventScroll: true });
        this.area.setSelectionRange(place, place);
        const height = parseFloat(getComputedStyle(this.area).lineHeight) || 20;
        this.area.scrollTop = Math.max(0, (line - 1) * height - this.area.clientHeight / 2);
        this.#scroll();
        this.root.scrollIntoView({ block: "nearest" });
    }
}
