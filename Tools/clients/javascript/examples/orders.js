// A page of orders in React, without a bundler and without JSX: a browser runs it as it is.

import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import { connect } from "telltale";
import { useRows } from "./use-rows.js";

// Made once: with a token, `connect(address, { token })`.
const telltale = connect();

function Orders() {
    const { rows, isCurrent, error } = useRows(telltale, "coffee-order/*", { view: "watch" });
    if (error) return h("p", { role: "alert" }, error.message);
    return h("ul", { "data-old": !isCurrent }, rows.map(({ key, row }) => h("li", { key }, `${key}: ${row.view?.title ?? row.state}`)));
}

createRoot(document.getElementById("orders")).render(h(Orders));
