// The icon of a kind: the first symbol that any row of it names. A Lock Screen's row often names none.

import { ask, entityPath } from "./api.js";
import { iconOf } from "./views.js";

const known = new Map();
const waiting = new Map();
const kindOf = key => key.split("/")[0];

/** The name of a symbol; the title or the kind's name, of which the first letter is drawn, where no row named one. */
export function icon(key, row) { return known.get(kindOf(key)) ?? row?.title ?? kindOf(key); }

/** The first symbol that a kind's definition names; null where it names none. */
export function symbolOf(definition) {
    const symbol = definition?.symbol;
    if (symbol) return typeof symbol === "string" ? symbol : symbol.off ?? symbol.on ?? null;
    const views = definition?.views ?? {};
    return iconOf({ view: views.minimal }) ?? iconOf({ view: views.compact }) ?? iconOf({ view: views.lockScreen });
}

const get = key => ask("GET", `${entityPath(key)}?view=desktop`).then(({ data }) => data);

/** Learns from a row. Where it names no symbol, asks once for a row that does, and then runs `then`. */
export function learnIcon(key, row, then, read = get) {
    const kind = kindOf(key);
    if (known.has(kind)) return;
    const found = iconOf(row);
    if (found) return known.set(kind, found);
    if (waiting.has(kind)) return waiting.get(kind).add(then);
    waiting.set(kind, new Set([then]));
    read(key).then(entity => {
        const symbol = iconOf(entity.row);
        if (!symbol) return;
        known.set(kind, symbol);
        for (const run of waiting.get(kind)) run();
    }).catch(() => waiting.delete(kind));
}
