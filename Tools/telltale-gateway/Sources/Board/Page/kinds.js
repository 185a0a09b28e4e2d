// The kinds in force, and one kind: its states, how many activities are in each, its events and its times.

import { Refusal, ask, pagePath } from "./api.js";
import { stateName } from "./cards.js";
import { Diagram } from "./diagram.js";
import { eachFrame, el, renew } from "./dom.js";
import { symbolOf } from "./icons.js";
import { isControl, tileWithPage } from "./controls.js";
import { Link } from "./link.js";
import { activeStates, statesOf, whole } from "./machine.js";
import { showLink } from "./main.js";
import { symbol } from "./symbols.js";
import { accent, appIcon } from "./views.js";

/** Activities that the page of a kind names. */
const MOST = 60;

/** Draws the page of all kinds. */
export async function kinds(main) {
    document.title = "Kinds · Telltale";
    const list = el("div.control-cells");
    main.replaceChildren(el("div.home", {},
        el("div.heading", {}, el("h1", {}, "Kinds"), el("a.chip", { href: "/playground" }, "Write one in the playground")), list));
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

/** Each event of a machine with the transitions that take it: from where, on what condition, to where. */
function transitions(definition) {
    const found = new Map();
    const add = (name, from, one) => {
        const rule = typeof one === "object" && one !== null ? one : { target: one };
        if (!found.has(name)) found.set(name, []);
        found.get(name).push({ from, to: [rule.target].flat().filter(Boolean).map(String), guard: rule.guard ? String(rule.guard) : "" });
    };
    for (const [path, state] of statesOf(definition?.machine)) {
        for (const [name, value] of Object.entries(state.on ?? {})) for (const one of [value].flat()) add(name, path, one);
        for (const [delay, value] of Object.entries(state.after ?? {})) for (const one of [value].flat()) add(`after ${delay}`, path, one);
    }
    return found;
}

function rules(definition) {
    return [...transitions(definition)].map(([name, list]) => el("tr", { data: { key: name } }, el("th", { scope: "row", dir: "auto" }, name),
        el("td", {}, list.map(({ from, to, guard }) => el("div.rule", {},
            el("span", { dir: "auto" }, from || "any state"), el("span.to", { "aria-hidden": "true" }, "→"), el("span", { dir: "auto" }, to.join(", ") || "stays"),
            guard ? el("code", { dir: "auto" }, guard) : null)))));
}

function facts(definition) {
    const names = { version: "Version", app: "App", stale: "Stale after", dismiss: "Lingers", maxActive: "Longest life", timeout: "Answers within", cooldown: "Rests" };
    return Object.entries(names).filter(([name]) => definition[name] !== undefined)
        .map(([name, words]) => el("div", {}, el("dt", {}, words), el("dd", { dir: "auto" }, String(definition[name]))));
}

/** Draws the page of one kind. */
export async function kind(main, name) {
    document.title = `${name} · Telltale`;
    const diagram = new Diagram(name);
    const heading = el("div.heading", {}, el("h1", {}, name));
    const counts = el("dl.facts");
    const activities = el("ul.links");
    const events = el("table.rules");
    const eventsPanel = el("section.panel-of-page.rows", { "aria-labelledby": "kind-events", hidden: true }, el("h2", { id: "kind-events" }, "Events"), events);
    const json = el("pre", { tabindex: 0, "aria-label": "Definition" });
    const now = el("h2", { id: "now-title" }, "How many are in each state");
    main.replaceChildren(el("div.wall", {}, heading,
        el("section.panel-of-page.rows", { "aria-labelledby": "now-title" }, now, counts, activities),
        el("div.rows", {}, diagram.root), eventsPanel, el("details.panel-of-page.rows", {}, el("summary", {}, "Definition"), json)));
    const link = new Link([`${name}/*,full`]);
    showLink(link);
    const draw = eachFrame(() => drawNow(link, diagram, counts, activities));
    link.addEventListener("change", draw);
    draw();
    try {
        const { data } = await ask("GET", `/v1/kinds/${encodeURIComponent(name)}`);
        const icon = symbolOf(data) ?? data.title ?? name;
        renew(heading,
            el("div.titles", { vars: { tint: accent(data.app) } }, appIcon(icon), el("div", {}, el("h1", { dir: "auto" }, data.title ?? name), el("p.key", {}, `${name} · ${data.type}`))),
            el("dl.facts", {}, facts(data)),
            // A widget has no machine to play.
            data.type === "widget" ? null : el("a.chip", { href: `/playground#kind=${encodeURIComponent(name)}` }, "Open in the playground"));
        json.textContent = JSON.stringify(data, null, 2);
        if (data.type !== "activity") return void (now.textContent = "Now");
        renew(events, el("caption.quiet", {}, "What each event does, from which state"), el("tbody", {}, rules(data)));
        eventsPanel.hidden = events.querySelector("tr") === null;
        if (await diagram.load()) draw();
    } catch (refusal) {
        json.textContent = refusal.message;
    }
}

function drawNow(link, diagram, counts, activities) {
    const found = new Map();
    const nested = new Map();
    const entries = [...link.rows(0).values()].sort((one, other) => other.rev - one.rev);
    for (const { row } of entries) {
        const state = stateName(row) || "none";
        found.set(state, (found.get(state) ?? 0) + 1);
        for (const path of whole(activeStates(row))) nested.set(path, (nested.get(path) ?? 0) + 1);
    }
    renew(counts, found.size ? [...found].sort((one, other) => other[1] - one[1]).map(([state, count]) => el("div", { data: { key: `s-${state}` } }, el("dt", { dir: "auto" }, state), el("dd", {}, String(count))))
        : el("div", {}, el("dt", {}, "All"), el("dd", {}, "none exists")));
    renew(activities, entries.slice(0, MOST).map(entry => el("li", { data: { key: entry.key } },
        isControl(entry.row) ? tileWithPage(entry) : el("a", { href: pagePath(entry.key), dir: "auto" }, entry.key.split("/")[1]))));
    diagram.count(nested);
    diagram.light([...nested.keys()]);
}
