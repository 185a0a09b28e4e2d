// The script of the examples: it posts what an order system would post, and follows the whole state for a line of text.

import { connect } from "./telltale.js";

const KEY = "coffee-order/example";
const telltale = connect();
const state = document.getElementById("state");

telltale.follow(KEY, { view: "full" }, change => {
    if (change.type === "row") state.textContent = `The order is ${change.row.state}`;
    if (change.type === "gone") state.textContent = "No order yet";
});

document.addEventListener("click", async ({ target }) => {
    const { event, body, minutes } = target.dataset;
    if (!event) return;
    const content = minutes && { eta: Math.round(telltale.now()) + minutes * 60_000 };
    try {
        const { verdict } = await telltale.post(KEY, event, { data: JSON.parse(body ?? "{}"), content });
        if (verdict !== "applied") state.textContent = `${event}: ${verdict}`;
    } catch (error) {
        state.textContent = error.message;
    }
});
