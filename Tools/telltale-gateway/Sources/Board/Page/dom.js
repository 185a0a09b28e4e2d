// Elements from data. A text becomes a text node and nothing else, so that no text of an event can become markup.

const SVG = "http://www.w3.org/2000/svg";
const SVG_NAMES = new Set(["svg", "path", "circle", "g", "rect", "use", "line", "text"]);

/**
 * An element.
 *
 * @param {string} selector The name of an element, with classes behind dots: "div.card.ended".
 * @param {object} [attributes] `data` holds data attributes, `vars` custom properties of CSS. A value that is null,
 *     undefined or false leaves the attribute out, true gives it without a value.
 * @param {...(Node|string|null|Array)} children Texts become text nodes; null is left out.
 */
export function el(selector, attributes = {}, ...children) {
    const [name, ...classes] = selector.split(".");
    const element = SVG_NAMES.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
    if (classes.length) element.setAttribute("class", classes.join(" "));
    for (const [key, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (key === "data") {
            for (const [part, text] of Object.entries(value)) {
                if (text !== null && text !== undefined) element.dataset[part] = String(text);
            }
        } else if (key === "vars") {
            for (const [part, text] of Object.entries(value)) element.style.setProperty(`--${part}`, String(text));
        } else {
            element.setAttribute(key, value === true ? "" : String(value));
        }
    }
    append(element, children);
    return element;
}

function append(element, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child)) append(element, child);
        else element.append(child);
    }
}

/**
 * Makes the children of an element those of a list, keeping the elements that are alike: what has the focus keeps it, and
 * what changes moves smoothly.
 */
export function renew(element, ...children) {
    const fresh = document.createElement("div");
    append(fresh, children);
    matchChildren(element, fresh);
}

/** Makes an element like another one. Returns the one that now stands in the document. */
export function morph(old, fresh) {
    if (old.nodeType === Node.TEXT_NODE && fresh.nodeType === Node.TEXT_NODE) {
        if (old.data !== fresh.data) old.data = fresh.data;
        return old;
    }
    if (old.nodeName !== fresh.nodeName || old.dataset?.key !== fresh.dataset?.key) {
        old.replaceWith(fresh);
        return fresh;
    }
    if (isOwn(old)) return old;
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of [...fresh.attributes]) {
        if (old.getAttribute(name) === value) continue;
        // The page's policy forbids the attribute, and allows the property.
        if (name === "style") old.style.cssText = fresh.style.cssText;
        else old.setAttribute(name, value);
    }
    matchChildren(old, fresh);
    return old;
}

/** Inputs hold what a person typed, which no attribute tells. */
function isOwn(element) {
    return element.nodeName === "INPUT" || element.nodeName === "SELECT";
}

/** Children with a key are found by it, each once; the others by their place. */
function matchChildren(old, fresh) {
    const keyed = new Map();
    for (const child of old.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
    let next = old.firstChild;
    for (const child of [...fresh.childNodes]) {
        const key = child.dataset?.key;
        const same = key ? keyed.get(key) : null;
        keyed.delete(key);
        if (same && same !== next) {
            old.insertBefore(same, next);
            morph(same, child);
        } else if (next && (same || !(key || next.dataset?.key))) {
            const current = next;
            next = next.nextSibling;
            morph(current, child);
        } else {
            old.insertBefore(child, next);
        }
    }
    while (next) {
        const gone = next;
        next = next.nextSibling;
        gone.remove();
    }
}

/** Runs a function at most once a frame, however often it is asked for. */
export function eachFrame(run) {
    let isDue = false;
    return () => {
        if (isDue) return;
        isDue = true;
        // A page in the background draws no frames, but must stay correct.
        const draw = () => { isDue = false; run(); };
        if (document.visibilityState === "hidden") setTimeout(draw, 100);
        else requestAnimationFrame(draw);
    };
}

/** Tells a screen reader, and shows for a moment. */
export function say(text, tone = "plain") {
    const place = document.getElementById("said");
    const note = el("div.said", { data: { tone } }, text);
    place.append(note);
    setTimeout(() => note.remove(), 6000);
}
