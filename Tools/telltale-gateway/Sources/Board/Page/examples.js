// Kind files to start from, and data that makes their screens look as in life.

const minutes = count => Date.now() + count * 60_000;

/** Each example with the data of its events; the files are those that the project ships. */
export const EXAMPLES = [
    { name: "coffee-order", title: "A coffee order: one line of states", data: () => ({
        start: { attributes: { shop: "Blue Bottle", item: "Flat white", name: "Ada" }, "content-state": { eta: minutes(8) } },
        confirm: { attributes: { shop: "Blue Bottle", item: "Flat white", name: "Ada" }, "content-state": { eta: minutes(8) } }, ready: { "content-state": { shelf: "B" } },
    }) },
    { name: "bistro-order", title: "A restaurant: states side by side", data: () => ({
        ordered: { attributes: { restaurant: "Trattoria Bella", table: "4" }, "content-state": { eta: minutes(26), rider: "Mia", phone: "030123" } },
        start: { attributes: { restaurant: "Trattoria Bella", table: "4" }, "content-state": { eta: minutes(26), rider: "Mia", phone: "030123" } },
    }) },
    { name: "flight", title: "A flight: events in any order", data: () => ({
        scheduled_departure: { "content-state": { origin: "EWR", dest: "IAH" } }, departed: { "content-state": { eta: minutes(130) } },
    }) },
    { name: "parcel", title: "A parcel: days between the events", data: () => ({}) },
    { name: "porch-light", title: "A light: a toggle", data: () => ({}) },
    { name: "leave-at-door", title: "A wish: a toggle inside an activity", data: () => ({}) },
    { name: "coffee-tip", title: "A tip: a button that raises an event", data: () => ({}) },
    { name: "cancel-order", title: "A cancellation: a button inside an activity", data: () => ({}) },
    { name: "log-coffee", title: "A log: a button with a provider", data: () => ({}) },
    { name: "store-open", title: "A shop's sign: a toggle", data: () => ({}) },
];

/** Paths that count down in a definition's views. */
function timers(value, found = new Set()) {
    if (value === null || typeof value !== "object") return found;
    for (const [name, one] of Object.entries(value)) {
        const path = name === "timer" && typeof one === "string" ? /\{\{\s*(content|attributes)\.(\w+)/.exec(one) : null;
        if (path) found.add(path[2]);
        else timers(one, found);
    }
    return found;
}

/** Data for the first event of a kind that is no example: a word for each name that the file declares. */
export function sampleOf(definition) {
    const dates = timers(definition?.views);
    const words = list => Object.fromEntries((Array.isArray(list) ? list : []).filter(name => typeof name === "string").slice(0, 40)
        .map(name => [name, dates.has(name) ? minutes(8) : name.slice(0, 1).toUpperCase() + name.slice(1, 60)]));
    const [attributes, content] = [words(definition?.attributes), words(definition?.content)];
    return { ...(Object.keys(attributes).length ? { attributes } : {}), ...(Object.keys(content).length ? { "content-state": content } : {}) };
}
