// Signing in: the token goes to the gateway once, which keeps it sealed in a cookie that no script can read.

import { Refusal } from "./api.js";
import { el } from "./dom.js";

let isOpen = false;

/** Asks for a token, and loads the page again, or another one, with the session that it begins. */
export function askForToken(next = null) {
    if (isOpen) return;
    isOpen = true;
    const input = el("input", {
        type: "password", id: "token", name: "token", required: true, autocomplete: "off", spellcheck: "false",
        placeholder: "tt_…", "aria-describedby": "token-fault",
    });
    const fault = el("p.fault", { id: "token-fault", role: "alert" });
    const form = el("form.sign-in", {},
        el("h1", { id: "sign-in-title" }, "Sign in"),
        el("p", {}, "This daemon wants a token. It stays in this browser session, out of reach of scripts, and ends with it."),
        el("label", { for: "token" }, "Token"), input, fault, el("button.primary", { type: "submit" }, "Sign in"));
    const dialog = el("dialog.sign-in-dialog", { "aria-labelledby": "sign-in-title", data: { testid: "sign-in" } }, form);
    form.addEventListener("submit", async event => {
        event.preventDefault();
        fault.textContent = "";
        try {
            // Not ask(): its answer to a refused token is this dialog.
            const answer = await fetch("/v1/session", {
                method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: input.value.trim() }),
            });
            if (!answer.ok) throw new Refusal(answer.status, await answer.json().catch(() => ({})));
            sessionStorage.setItem("signed-in", "yes");
            if (next) location.assign(next);
            else location.reload();
        } catch (refusal) {
            fault.textContent = refusal instanceof Refusal ? refusal.message : "The gateway does not answer; try again";
            input.select();
        }
    });
    // Without a token there is nothing to go back to.
    dialog.addEventListener("cancel", event => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
}
