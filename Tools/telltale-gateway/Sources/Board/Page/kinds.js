// The kinds in force, and one kind with its states.

import { Refusal, ask } from "./api.js";
import { Diagram } from "./diagram.js";
import { eachFrame, el, renew } from "./dom.js";
import { symbolOf } from "./icons.js";
import { Link } from "./link.js";
import { showLink } from "./main.js";
import { symbol } from "./symbols.js";
import { accent } from "./views.js";

/** Draws the page of all kinds. */
export async function kinds(main) {
    document.title = "Kinds · Telltale";
    const list = el("div.control-cells");
    main.replaceChildren(el("div.home", {}, el("div.heading", {}, el("h1", {}, "Kinds")), list));
    // Only for the state of the link.
    showLink(new Link(["kinds/none,full"]));
    try {
        const { data } = await ask("GET", "/v1/kinds");
        const sorted = data.kinds.sort((one, other) => (one.type === other.type ? (one.name < other.name ? -1 : 1) : one.type < other.type ? -1 : 1));
        const definitions = await Promise.all(sorted.map(one => ask("GET", `/v1/kinds/${encodeURIComponent(one.name)}`).then(answer => answer.data).catch(() => null)));
        renew(list, sorted.map((one, index) => el("a.tile-of-control.kind", { href: `/kinds/${encodeURIComponent(one.name)}`, data: { key: one.name, testid: "kind" }, vars: { tint: accent(one.app) } },
            el("span.disc", {}, symbol(symbolOf(definitions[index]) ?? one.title ?? one.name)),
            el("span.words", {}, el("span.name", { dir: "auto" }, one.title ?? one.name), el("span.value", {}, `${one.name} · ${one.type} · version ${one.version}`)))));
    } catch (refusal) {
        if (refusal instanceof Refusal) renew(list, el("p.quiet", {}, refusal.message));
    }
}

/** Draws the page of one kind. */
export async function kind(main, name) {
    document.title = `${name} · Telltale`;
    const diagram = new Diagram(name);
    const counts = el("dl.facts");
    const activities = el("ul.plain-list");
    const json = el("pre", { tabindex: 0, "aria-label": "Definition" });
    main.replaceChildren(el("div.wall", {},
        el("div.heading", {}, el("div.titles", {}, el("div", {}, el("h1", {}, name), el("p.key", {}, "kind")))),
        el("section.panel-of-page.rows", { "aria-labelledby": "now-title" }, el("h2", { id: "now-title" }, "How many are in each state"), counts, activities),
        el("div.rows", {}, diagram.root), el("details.panel-of-page.rows", {}, el("summary", {}, "Definition"), json)));
    ask("GET", `/v1/kinds/${encodeURIComponent(name)}`).then(({ data }) => { json.textContent = JSON.stringify(data, null, 2); }).catch(refusal => { json.textContent = refusal.message; });
    const link = new Link([`${name}/*,full`]);
    showLink(link);
    const draw = eachFrame(() => {
        const found = new Map();
        const nested = new Map();
        for (const { row } of link.rows(0).values()) {
            const state = row.state ?? row.phase ?? "none";
            found.set(state, (found.get(state) ?? 0) + 1);
            const active = new Set((row.configuration ?? []).flatMap(path => path.split(".").map((_, index, parts) => parts.slice(0, index + 1).join("."))));
            for (const path of active) nested.set(path, (nested.get(path) ?? 0) + 1);
        }
        renew(counts, found.size ? [...found].sort((one, other) => other[1] - one[1]).map(([state, count]) => el("div", { data: { key: `s-${state}` } }, el("dt", { dir: "auto" }, state), el("dd", {}, String(count))))
            : el("div", {}, el("dt", {}, "All"), el("dd", {}, "none exists")));
        diagram.count(nested);
        diagram.light([...nested.keys()]);
    });
    link.addEventListener("change", draw);
    diagram.load().then(isThere => { if (isThere) draw(); });
    draw();
}
