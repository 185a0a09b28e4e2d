// A board as its rows tell it at a moment: its places in their order, each with the tile that it shows. Nothing is asked for: a stack
// turns at the dates of its rows.

import { entryAt } from "./servertime.js";

/** How a tile stands at a moment: the number of its place, and whether its stack shows it. */
export function standing(key, row, now) {
    const turned = row.turns?.findLast(turn => turn.date <= now);
    const moved = row.orders?.findLast(one => one.date <= now);
    return { order: moved?.order ?? row.order ?? 0, isTop: turned ? turned.key === key : row.top !== false };
}

/** The id of a tile or a stack on its board. */
export function idOf(key) { return key.slice(key.indexOf("/") + 1); }

/**
 * The places that a device shows.
 *
 * @param {Map<string, {key: string, rev: number, row: object}>} rows Of the surface.
 * @param {Map<string, {key: string, rev: number, row: object}>} full The same tiles, and the stacks, in the full view.
 * @returns {Array<{id: string, key: string, order: number, stack: object|null, tiles: object[], top: object, family: string}>}
 */
export function placesOf(rows, full, now) {
    const places = new Map();
    for (const entry of rows.values()) {
        const { key, row } = entry;
        if (!row.widget || !row.presentation) continue;
        const { order, isTop } = standing(key, row, now);
        // A suggestion is sent ahead: until its time it has no picture and no place.
        if (order < 1 || (row.suggested && !entryAt(row, now)?.view)) continue;
        const board = key.slice(0, key.indexOf("/"));
        const id = row.stack ?? idOf(key);
        // The `/` keeps a stack apart from a tile of the same name.
        const name = row.stack ? `/${id}` : id;
        if (!places.has(name)) places.set(name, { id, key: `${board}/${id}`, order, stack: row.stack ? full.get(`${board}/${id}`) ?? null : null, isStack: Boolean(row.stack), tiles: [], top: null });
        places.get(name).tiles.push({ ...entry, isTop, order });
    }
    for (const place of places.values()) {
        place.tiles.sort((one, other) => (one.row.position ?? 0) - (other.row.position ?? 0) || (one.key < other.key ? -1 : 1));
        // Rows of one stack come one after another: while they disagree, the newest one is right.
        const claiming = place.tiles.filter(tile => tile.isTop);
        place.top = claiming.sort((one, other) => other.rev - one.rev)[0] ?? place.tiles[0];
        place.order = place.top.order;
        place.family = place.top.row.presentation;
    }
    return [...places.values()].sort((one, other) => one.order - other.order || (one.id < other.id ? -1 : 1));
}

/** Where things stand on the board itself, whatever a device shows: by key, the position, and the stack around it. */
export function positionsOf(full) {
    return new Map([...full.values()].map(({ key, row }) => [key, { position: row.order ?? row.position ?? 0, stack: row.stack ?? null }]));
}

/** The position that brings a thing before or behind another one. */
export function positionBeside(from, to, isBehind) {
    if (from < to) return isBehind ? to : to - 1;
    return isBehind ? to + 1 : to;
}

/** An id that nothing on the board has. */
export function freeID(full, board, letter) {
    let number = 1;
    while (full.has(`${board}/${letter}${number}`)) number += 1;
    return `${letter}${number}`;
}

/** The device that a board's name speaks of. */
export function deviceOf(name) {
    const found = [["car", "carplay"], ["watch", "watch"], ["pad", "pad"], ["mac", "desktop"], ["desk", "desktop"], ["vision", "vision"], ["standby", "standby"], ["night", "standby"]].find(([word]) => name.toLowerCase().includes(word));
    return found ? found[1] : "phone";
}
