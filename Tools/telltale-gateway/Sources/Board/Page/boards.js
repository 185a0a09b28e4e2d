// The boards of all devices that this caller may see, and a way to one that is not there yet.

import { Refusal, ask } from "./api.js";
import { el, renew } from "./dom.js";
import { Link } from "./link.js";
import { showLink } from "./main.js";

/** Draws the page of all boards. */
export async function boards(main) {
    document.title = "Boards · Telltale";
    const list = el("ul.control-cells");
    const none = el("p.quiet", { role: "status" });
    const account = el("input", { id: "boards-account", placeholder: "everybody's", autocomplete: "off", maxlength: 64, value: new URLSearchParams(location.search).get("account") ?? "" });
    const name = el("input", { id: "board-name", placeholder: "@alice-car", autocomplete: "off", maxlength: 64, pattern: "@?[A-Za-z0-9._~:@\\-]+", required: true });
    const field = (words, input) => el("div.field", {}, el("label", { for: input.id }, words), input);
    const open = el("form.tools", {}, field("Account", account), field("A board", name), el("button.primary", { type: "submit" }, "Open"));
    main.replaceChildren(el("div.home", {},
        el("div.heading", {}, el("div", {}, el("h1", {}, "Boards"), el("p.quiet", {}, "What each device shows. A board begins with its first tile."))), open, none, list));
    const path = board => `/boards/${encodeURIComponent(board)}${account.value.trim() ? `?account=${encodeURIComponent(account.value.trim())}` : ""}`;
    open.addEventListener("submit", event => {
        event.preventDefault();
        const text = name.value.trim();
        location.assign(path(text.startsWith("@") ? text : `@${text}`));
    });
    // Only for the state of the link.
    showLink(new Link(["kinds/none,full"]));
    const show = async () => {
        const url = new URL(location.href);
        if (account.value.trim()) url.searchParams.set("account", account.value.trim());
        else url.searchParams.delete("account");
        history.replaceState(null, "", url);
        try {
            const query = new URLSearchParams({ caps: "widgets", view: "full", ...(account.value.trim() ? { account: account.value.trim() } : {}) });
            const { data } = await ask("GET", `/v1/entities?${query}`);
            const found = new Map();
            for (const { key, row } of data.entities) {
                const board = key.slice(0, key.indexOf("/"));
                // A kind of before may be named so; its rows are no tiles.
                if (!board.startsWith("@") || (typeof row.widget !== "string" && typeof row.smart !== "boolean")) continue;
                const counts = found.get(board) ?? { tiles: 0, stacks: 0 };
                counts[row.state === "stack" ? "stacks" : "tiles"] += 1;
                found.set(board, counts);
            }
            none.textContent = found.size ? "" : "No board is there yet, or none that this account sees.";
            renew(list, [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([board, { tiles, stacks }]) => el("li", { data: { key: board } },
                el("a.tile-of-control.kind", { href: path(board), data: { testid: "board" } },
                    el("span.words", {}, el("span.name", { dir: "auto" }, board), el("span.value", {}, `${tiles} ${tiles === 1 ? "tile" : "tiles"}, ${stacks} ${stacks === 1 ? "stack" : "stacks"}`))))));
        } catch (refusal) {
            if (!(refusal instanceof Refusal)) throw refusal;
            none.textContent = refusal.message;
        }
    };
    account.addEventListener("change", show);
    await show();
}
