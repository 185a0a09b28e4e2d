// The history of an entity: newest first, and going on.

import { ask, entityPath, oneAtATime } from "./api.js";
import { timeText } from "./clock.js";
import { el, renew } from "./dom.js";

/** More would make the page slow, and nobody reads them; the API has all. */
const MOST = 300;
const OWN = new Set(["rev", "at", "heard", "type", "verdict", "by", "eid", "seq", "src", "state"]);

function lag(event) {
    const milliseconds = (event.heard ?? event.at) - event.at;
    if (!Number.isFinite(milliseconds)) return "";
    if (Math.abs(milliseconds) < 1000) return `${milliseconds} ms`;
    const seconds = milliseconds / 1000;
    return Math.abs(seconds) < 120 ? `${seconds.toFixed(1)} s` : Math.abs(seconds) < 7200 ? `${Math.round(seconds / 60)} min`
        : Math.abs(seconds) < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

function details(event) {
    const rest = Object.entries(event).filter(([name]) => !OWN.has(name));
    if (!rest.length) return null;
    const text = JSON.stringify(Object.fromEntries(rest));
    return el("span.tail", { title: text.slice(0, 2000) }, text.length > 160 ? `${text.slice(0, 160)}…` : text);
}

function row(event, isNew) {
    return el("li.event", {
        data: { testid: "timeline-row", rev: event.rev, seq: event.seq, verdict: event.verdict, fresh: isNew || null, key: `e${event.seq}` },
    },
    el("time", { datetime: new Date(event.at).toISOString(), title: `happened ${new Date(event.at).toISOString()}` }, timeText(event.at)),
    el("span.mark", { "aria-hidden": "true" }),
    el("span.what", {},
        el("b", { dir: "auto" }, event.type ?? ""), " ", el("span.verdict", {}, event.verdict ?? ""),
        event.state ? el("span.to", { dir: "auto" }, ` → ${event.state.replaceAll(",", ", ")}`) : null),
    el("span.who", { title: "Principal or source" }, event.by ?? event.src ?? "server"),
    el("span.lag", { title: "From when it happened until the server heard of it" }, lag(event)),
    el("span.rev", { title: "Revision" }, `rev ${event.rev}`), details(event));
}

/** The timeline of one key. `renew()` reads it again; it is asked for at each change. */
export class Timeline {
    #seen = -1;

    constructor(key) {
        this.key = key;
        this.list = el("ol.timeline", { tabindex: 0, "aria-labelledby": "timeline-title" });
        this.note = el("p.quiet", {}, "Nothing has happened yet.");
        this.root = el("section.panel-of-page", { "aria-labelledby": "timeline-title" }, el("h2", { id: "timeline-title" }, "Timeline"), this.note, this.list);
    }

    /** Types of events that have come, for suggestions. */
    types = new Set();

    renew = oneAtATime(async () => {
        try {
            const { data } = await ask("GET", `${entityPath(this.key)}/history`);
            this.#draw(data.events);
        } catch { /* Unknown yet, or the link is down, which the header says. */ }
    });

    #draw(events) {
        const before = this.#seen;
        for (const event of events) if (event.type) this.types.add(event.type);
        this.#seen = events.reduce((most, event) => Math.max(most, event.seq ?? 0), before);
        this.note.hidden = events.length > 0;
        const newest = events.slice(-MOST).reverse();
        renew(this.list, newest.map(event => row(event, before >= 0 && event.seq > before)));
        this.dispatch?.(events.at(-1), before >= 0 && this.#seen > before);
    }
}
