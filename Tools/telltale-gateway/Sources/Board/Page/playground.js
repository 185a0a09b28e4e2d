// The playground: a kind file at the left, its lint as one types; at the right its machine and its screens, moved by events
// and by time. The gateway plays it; nothing is stored but in the link.

import { Refusal, ask, oneAtATime } from "./api.js";
import { stateName } from "./cards.js";
import { clock, countdown } from "./clock.js";
import { Diagram } from "./diagram.js";
import { eachFrame, el, renew, say } from "./dom.js";
import { Editor } from "./editor.js";
import { EXAMPLES, sampleOf } from "./examples.js";
import { symbolOf } from "./icons.js";
import { activeStates, eventsTaken, statesOf } from "./machine.js";
import { SURFACES, Screens, drawPlacements, situations } from "./screens.js";
import { pack, unpack } from "./share.js";
import { CONTROL_STEPS, SPANS, logRow, since } from "./trial.js";
import { accent, appIcon, iconOf } from "./views.js";

const STEPS = 500;
/** The longest time that one step lets pass: 366 days. */
const LONGEST = 31_622_400_000;
/** How long after the last key the file is checked. */
const PAUSE = 250;

/** Draws the playground. */
export function playground(main) {
    document.title = "Playground · Telltale";
    new Playground(main).begin();
}

class Playground {
    #timer = 0;
    #drawing = null;
    #running = 0;
    #known = "";

    constructor(main) {
        this.steps = [];
        this.start = Date.now();
        this.traits = {};
        this.definition = null;
        this.data = {};
        this.answer = null;
        this.editor = new Editor("Kind file");
        this.findings = el("ol.findings", { "aria-label": "Findings" });
        this.state = el("p.lint-state", { id: "lint-state", role: "status", data: { testid: "lint-state" } }, "Checking");
        this.heading = el("div.heading");
        this.events = el("div.event-buttons", { role: "group", "aria-label": "What happens next" });
        this.time = el("div.event-buttons.time", { role: "group", "aria-label": "Time" });
        this.log = el("ol.timeline", { tabindex: 0, "aria-labelledby": "log-title" });
        this.place = el("div.placements");
        this.diagram = new Diagram("this kind");
        this.screens = new Screens("playground/1042");
        this.json = el("pre", { tabindex: 0, "aria-label": "Rows as JSON" });
        this.situations = situations(traits => { this.traits = traits; this.play(); });
        main.replaceChildren(el("div.play", {}, this.#left(), this.#right()));
        this.draw = eachFrame(() => this.#draw());
        this.editor.changed = () => this.#typed();
        this.check = oneAtATime(() => this.#check());
        this.play = oneAtATime(() => this.#play());
        this.events.addEventListener("click", event => this.#clicked(event));
        this.time.addEventListener("click", event => this.#clicked(event));
        // A tap on a control is a step here, and no request for a control of that name.
        this.place.addEventListener("click", event => {
            const button = event.target.closest("button[data-control]");
            if (!button) return;
            event.stopPropagation();
            this.#step(button.dataset.control === "toggle" ? { set: button.dataset.wants } : { press: true });
        });
        this.findings.addEventListener("click", event => {
            const { line, column } = event.target.closest("button")?.dataset ?? {};
            if (line) this.editor.go(Number(line), Number(column));
        });
        addEventListener("hashchange", () => { if (location.hash !== this.#known) this.#open(location.hash); });
    }

    #left() {
        this.example = el("select", { id: "example" }, el("option", { value: "" }, "Examples …"), EXAMPLES.map(({ name, title }) => el("option", { value: name }, title)));
        this.example.addEventListener("change", () => { if (this.example.value) location.hash = `#example=${this.example.value}`; });
        const link = el("button.chip", { type: "button" }, "Copy a link");
        link.addEventListener("click", () => this.#share(true));
        return el("section.play-file", { "aria-label": "Kind file" },
            el("div.play-tools", {}, el("h1", {}, "Playground"), el("span.grow"), el("label.hidden-label", { for: "example" }, "Example"), this.example, link),
            this.editor.root, el("div.lint", {}, this.state, this.findings));
    }

    #right() {
        this.type = el("input", { id: "play-type", list: "play-types", autocomplete: "off", maxlength: 64, placeholder: "ready", required: true });
        this.types = el("datalist", { id: "play-types" });
        this.body = el("textarea", { id: "play-data", rows: 4, spellcheck: "false", placeholder: '{"content-state":{"shelf":"B"}}' });
        this.form = el("form.event-form", {}, el("label", { for: "play-type" }, "Type"), this.type, this.types,
            el("label", { for: "play-data" }, "Data (JSON)"), this.body, el("button.primary", { type: "submit" }, "Happen"));
        this.form.addEventListener("submit", event => {
            event.preventDefault();
            try {
                this.#step({ event: this.type.value.trim(), data: this.body.value.trim() ? JSON.parse(this.body.value) : {} });
            } catch (fault) {
                say(`The data is no JSON: ${fault.message}`, "bad");
            }
        });
        this.other = el("details", {}, el("summary", {}, "Any event, with data"), this.form);
        return el("div.play-screens", {}, this.heading,
            el("div.play-top", {},
                el("section.panel-of-page.moves", { "aria-labelledby": "moves-title" }, el("h2", { id: "moves-title" }, "What happens"), this.events, this.other, el("h2", {}, "Time"), this.time,
                    el("h2", { id: "log-title" }, "So far"), this.log),
                this.diagram.root),
            this.situations, el("div.scene-room", {}, this.screens.root), this.place,
            el("details.panel-of-page.rows", {}, el("summary", {}, "Rows as JSON"), this.json));
    }

    // MARK: The file

    async begin() {
        // The page has no stream, and so no link to show.
        document.getElementById("link").hidden = true;
        this.#ticking = setInterval(() => this.#tick(), 1000);
        await this.#open(location.hash);
    }

    #ticking = 0;

    /** Opens what a fragment names; an example where it names nothing. */
    async #open(fragment) {
        this.#known = fragment;
        const named = await unpack(fragment);
        try {
            if (named?.file !== undefined) return this.#load(named.file, named.steps);
            if (named?.broken) say("The link is damaged: its file cannot be read", "bad");
            if (named?.kind) {
                const { data } = await ask("GET", `/v1/kinds/${encodeURIComponent(named.kind)}`);
                return this.#load(`${JSON.stringify(data, null, 2)}\n`, []);
            }
            const example = EXAMPLES.find(one => one.name === named?.example) ?? EXAMPLES[0];
            const answer = await fetch(new URL(`./${example.name}.json`, import.meta.url));
            this.example.value = example.name;
            this.#load(await answer.text(), []);
        } catch (refusal) {
            say(refusal.message, "bad");
            if (!(refusal instanceof Refusal)) throw refusal;
            // A kind that is not to be had leaves no empty page.
            if (named?.kind) return this.#open(`#example=${EXAMPLES[0].name}`);
        }
    }

    #forget() {
        this.steps = [];
        this.start = Date.now();
        this.answer = null;
        this.#stop();
        this.screens.calm();
    }

    #load(text, steps) {
        this.#forget();
        this.steps = steps;
        this.editor.text = text;
        this.definition = null;
        this.check();
    }

    #typed() {
        this.state.dataset.tone = "busy";
        this.example.value = "";
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.check(), PAUSE);
    }

    async #check() {
        const text = this.editor.text;
        let report;
        try {
            ({ data: report } = await ask("POST", "/v1/lint?diagram=yes", { body: text }));
        } catch (refusal) {
            if (!(refusal instanceof Refusal)) throw refusal;
            report = { kind: null, errors: 1, warnings: 0, findings: [{ severity: "error", line: 1, column: 1, path: "", message: refusal.message, advice: "" }] };
        }
        // Typed meanwhile: that is checked next.
        if (text !== this.editor.text) return;
        this.#tell(report);
        if (!report.kind) return;
        // The events of another kind mean nothing to this one.
        if (this.definition && (this.kind.name !== report.kind.name || this.kind.type !== report.kind.type)) this.#forget();
        this.definition = JSON.parse(text);
        this.kind = report.kind;
        if (report.kind.type === "widget") return this.#showNothing();
        const example = EXAMPLES.find(one => one.name === report.kind.name);
        this.data = example ? example.data() : {};
        if (report.diagram !== this.#drawing) {
            this.#drawing = report.diagram;
            if (report.diagram) this.diagram.show(report.diagram);
            else this.diagram.clear();
        }
        this.diagram.accept = this.definition.accept ?? {};
        renew(this.types, [...new Set(statesOf(this.definition.machine).flatMap(([, state]) => Object.keys(state.on ?? {})))].map(value => el("option", { value })));
        // A picture is worth more with something on it: an activity begins by itself.
        if (!this.steps.length && report.kind.type === "activity") this.#begin();
        this.play();
    }

    /** A widget has no machine: its lint is all there is. */
    #showNothing() {
        this.#forget();
        this.definition = null;
        this.#drawing = null;
        this.diagram.clear();
        renew(this.heading, el("div.titles", { vars: { tint: accent(this.kind.app) } }, appIcon(this.kind.title), el("div", {}, el("h2.title", { dir: "auto" }, this.kind.title), el("p.quiet", {}, "A widget has no machine to be played: telltale kinds run shows its timeline."))));
        this.diagram.root.parentElement.hidden = this.situations.hidden = this.screens.root.parentElement.hidden = this.place.hidden = true;
        this.json.textContent = "";
        document.body.dataset.live = "true";
        document.body.dataset.steps = "0";
    }

    #begin() {
        const [first] = eventsTaken(this.definition, null);
        this.steps = [this.#eventStep(first ?? "start")];
    }

    #tell({ errors, warnings, findings }) {
        const count = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;
        this.state.textContent = errors || warnings ? [errors ? count(errors, "error") : null, warnings ? count(warnings, "warning") : null].filter(Boolean).join(", ")
            + (errors ? ". The screens show the last version without one." : "") : "No findings";
        this.state.dataset.tone = errors ? "error" : warnings ? "warning" : "good";
        document.body.dataset.lint = this.state.dataset.tone;
        this.editor.mark(findings);
        renew(this.findings, findings.map(({ severity, line, column, path, message, advice }) => el("li", { data: { severity, testid: "finding" } },
            el("button", { type: "button", data: { line, column } },
                el("span.place", {}, `${line}:${column}`), el("span", { dir: "auto" }, path ? [el("code", {}, path), ": "] : null, message, advice ? el("span.advice", {}, advice) : null)))));
    }

    async #share(isAsked) {
        try {
            this.#known = await pack(this.editor.text, this.steps);
        } catch (fault) {
            return isAsked ? say(fault.message, "bad") : undefined;
        }
        history.replaceState(null, "", this.#known);
        if (!isAsked) return;
        const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
        say(isCopied ? "The link is copied. It holds the file and what happened." : "The link is in the address bar. It holds the file and what happened.");
    }

    // MARK: What happens

    #clicked(event) {
        const { step, action } = event.target.closest("button")?.dataset ?? {};
        if (step) this.#step(JSON.parse(step));
        else if (action === "undo") { this.steps.pop(); this.#stop(); this.play(); }
        else if (action === "restart") { this.#forget(); this.play(); }
        else if (action === "next" && this.answer) this.#step({ after: Math.max(0, this.answer.next - this.answer.now) });
        else if (action?.startsWith("run")) { this.#running = this.#running ? 0 : Number(action.slice(3)); this.draw(); }
    }

    /** An event with the data that its example has for it; of no example, the first one has a word for each name. */
    #eventStep(event) {
        const data = Object.hasOwn(this.data, event) ? this.data[event] : this.steps.length || Object.keys(this.data).length ? {} : sampleOf(this.definition);
        return { event, data };
    }

    #step(step) {
        const last = this.steps.at(-1);
        // Where something fell due, its alert belongs to that step, and not to the time behind it.
        const isCalm = this.answer?.log.at(-1)?.step !== this.steps.length - 1;
        if (step.after !== undefined && Number.isInteger(last?.after) && isCalm && last.after + step.after <= LONGEST) this.steps[this.steps.length - 1] = { after: last.after + step.after };
        else if (this.steps.length >= STEPS) return say(`A play has ${STEPS} steps at most; start again`, "bad");
        else this.steps.push(step);
        this.play();
    }

    #stop() { this.#running = 0; }

    #tick() {
        if (this.#running && document.visibilityState === "visible" && this.answer) this.#step({ after: this.#running * 1000 });
    }

    async #play() {
        const { definition, steps } = this;
        if (!definition) return;
        const traits = this.traits;
        try {
            const { data } = await ask("POST", "/v1/play", { body: { kind: definition, id: "1042", at: this.start, steps, traits } });
            if (definition !== this.definition) return;
            const isNew = data.log.length > (this.answer?.log.length ?? 0);
            this.answer = data;
            clock.hold(data.now);
            this.#show(isNew);
            this.#share(false);
        } catch (refusal) {
            if (!(refusal instanceof Refusal)) throw refusal;
            this.#stop();
            if (refusal.status !== 401) say(refusal.message, "bad");
        }
    }

    // MARK: Drawing

    #show(isNew) {
        const { rows, alerts, log, key } = this.answer;
        this.screens.key = key;
        this.screens.icon = symbolOf(this.definition) ?? SURFACES.map(view => rows[view] && iconOf(rows[view])).find(Boolean) ?? this.kind.title;
        this.diagram.light(activeStates(rows.full));
        this.diagram.time(rows.full?.timers);
        if (isNew) {
            for (const [view, alert] of Object.entries(alerts)) this.screens.moment(view, { alert }, this.draw);
            for (const view of SURFACES) if (rows[view]?.banner || rows[view]?.highlighted) this.screens.moment(view, { row: rows[view] }, this.draw);
            const last = log.at(-1);
            if (last && last.verdict !== "refused") this.diagram.flash(last.type);
        }
        this.#draw();
        document.body.dataset.live = "true";
        document.body.dataset.state = rows.full?.state ?? "";
        document.body.dataset.steps = String(this.steps.length);
    }

    #draw() {
        if (!this.answer) return;
        const { rows, now, next, log, opened } = this.answer;
        const isActivity = this.kind.type === "activity";
        const full = rows.full;
        const state = isActivity ? (full ? stateName(full) : "not begun") : log.at(-1)?.state ?? full?.phase ?? "";
        renew(this.heading,
            el("div.titles", { vars: { tint: accent(this.kind.app) } }, appIcon(this.screens.icon), el("div", {}, el("h2.title", { dir: "auto" }, this.kind.title), el("p.key", {}, this.answer.key))),
            el("dl.facts", {}, ...[["State", state], ["Life-cycle", isActivity ? full?.lifecycle ?? "not begun" : null], ["Passed", since(now - this.start)], ["Next", next === null ? "nothing" : `in ${countdown(next, now)}`]]
                .filter(([, value]) => value !== null).map(([name, value]) => el("div", { data: { lifecycle: name === "Life-cycle" ? value : null } }, el("dt", {}, name), el("dd", { dir: "auto" }, value)))));
        const choices = isActivity ? eventsTaken(this.definition, full && full.lifecycle !== "dismissed" ? full.configuration : null).map(type => [type, this.#eventStep(type)]) : CONTROL_STEPS[this.kind.type];
        renew(this.events, choices.length ? choices.map(([words, step]) => el("button", { type: "button", data: { key: words, step: JSON.stringify(step), testid: "event" } }, words))
            : el("p.quiet", {}, "This state takes no event."));
        this.diagram.root.parentElement.hidden = false;
        this.other.hidden = !isActivity;
        const action = (words, name, more = {}) => el("button", { type: "button", data: { key: name, action: name }, ...more }, words);
        renew(this.time,
            SPANS.map(([words, after]) => el("button", { type: "button", data: { key: words, step: JSON.stringify({ after }), testid: "time" } }, words)),
            action("To the next deadline", "next", { "aria-disabled": next === null ? "true" : null, disabled: next === null }),
            action(this.#running ? "Stop" : "Run, a minute a second", "run60", { "aria-pressed": String(Boolean(this.#running)) }),
            action("Undo", "undo", { disabled: !this.steps.length }), action("Start again", "restart", { disabled: !this.steps.length }));
        this.screens.root.parentElement.hidden = this.situations.hidden = !isActivity;
        this.place.hidden = isActivity;
        if (isActivity) {
            const revs = Object.fromEntries(SURFACES.map(view => [view, this.steps.length]));
            this.screens.draw(rows, { revs, panel: opened, traits: this.traits, app: this.kind.app });
        } else {
            drawPlacements(this.place, name => (rows[name] ? { key: this.answer.key, rev: this.steps.length, row: rows[name] } : null));
        }
        renew(this.log, log.length ? log.slice(-200).reverse().map(entry => logRow(entry, this.start)) : el("li.quiet", {}, "Nothing has happened yet."));
        this.json.textContent = JSON.stringify(rows, null, 2);
    }
}
