// A kind's machine, as its definition has it: its states, and which events an activity takes.

/** The states and regions right inside one, by their names. */
function inside(state) {
    return [...(Array.isArray(state.regions) ? state.regions.map(one => [String(one?.id ?? ""), one]) : []), ...Object.entries(state.states ?? {})]
        .filter(([, one]) => one !== null && typeof one === "object");
}

/** Every state of a machine with its path, the machine itself first, under the empty path. */
export function statesOf(machine) {
    const found = [];
    const add = (path, state) => {
        found.push([path, state]);
        for (const [name, one] of inside(state)) add(path ? `${path}.${name}` : name, one);
    };
    if (machine !== null && typeof machine === "object") add("", machine);
    return found;
}

/** The active states of a `full` row. A widget's configuration is an object, and it has no states. */
export function activeStates(full) { return Array.isArray(full?.configuration) ? full.configuration : []; }

/** Whether a `full` row is a widget's. */
export function isWidget(full) { return typeof full?.smart === "boolean" || (full?.configuration !== undefined && !Array.isArray(full.configuration)); }

/** The paths of active states and of the states around them. */
export function whole(configuration) {
    const active = new Set();
    for (const path of configuration) {
        const names = path.split(".");
        names.forEach((_, index) => active.add(names.slice(0, index + 1).join(".")));
    }
    return active;
}

/**
 * The types of events that an activity takes in a configuration, by its kind's definition.
 *
 * @param {object|null} definition As a kind file has it; without `machine` nothing is known.
 * @param {string[]|null} configuration The active states; null where there is no activity yet.
 */
export function eventsTaken(definition, configuration) {
    const states = statesOf(definition?.machine);
    if (!states.length) return [];
    if (!configuration) return definition.startsOn?.length ? definition.startsOn : ["start"];
    const active = new Set(["", ...configuration]);
    // The innermost states come first: what they take is what comes next.
    const depth = path => (path ? path.split(".").length : 0);
    const types = states.filter(([path]) => active.has(path)).sort(([one], [other]) => depth(other) - depth(one))
        .flatMap(([, state]) => Object.keys(state.on ?? {}));
    return [...new Set(types)].filter(type => !/[*#]/.test(type));
}
