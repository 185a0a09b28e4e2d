// The shell of the page: which page it is, how it looks, how the link is, who is signed in.

import { ask, onUnauthorized } from "./api.js";
import { startTicking } from "./clock.js";
import { tapping } from "./controls.js";
import { el, say } from "./dom.js";
import { telltale } from "./link.js";
import { askForToken } from "./signin.js";

const WORDS = {
    connecting: "connecting", live: "live", reconnecting: "reconnecting", resumed: "resumed", reset: "reset", refused: "refused", closed: "closed",
};

/** Shows how a link is, in the header and to tests. */
export function showLink(link) {
    const place = document.getElementById("link");
    const show = () => {
        if (place.dataset.state !== link.state) place.textContent = WORDS[link.state];
        place.dataset.state = link.state;
        place.title = link.seq ? `Sequence number ${link.seq}` : "";
        document.body.dataset.live = String(["live", "resumed", "reset"].includes(link.state));
    };
    link.addEventListener("state", show);
    link.addEventListener("refused", event => {
        const { status, message } = event.detail;
        if (status === 401) askForToken();
        else say(status === 403 ? `This token may not see that: ${message}` : message, "bad");
    });
    show();
}

/** Light, dark, or as the system has it. Kept for this browser, as are no other words of a person. */
function startLook() {
    const button = document.getElementById("look");
    const names = ["automatic", "light", "dark"];
    let look = "automatic";
    try { look = localStorage.getItem("look") ?? look; } catch { /* A browser may keep nothing for us. */ }
    const show = () => {
        if (look === "automatic") delete document.documentElement.dataset.look;
        else document.documentElement.dataset.look = look;
        button.textContent = `Appearance: ${look}`;
    };
    button.addEventListener("click", () => {
        look = names[(names.indexOf(look) + 1) % names.length];
        try { localStorage.setItem("look", look); } catch { /* As above. */ }
        show();
    });
    show();
}

function startSignOut() {
    const button = document.getElementById("sign-out");
    button.hidden = sessionStorage.getItem("signed-in") !== "yes";
    button.addEventListener("click", async () => {
        await ask("DELETE", "/v1/session").catch(() => {});
        sessionStorage.removeItem("signed-in");
        location.assign("/login");
    });
}

/** Says what became of the folder of kinds, where the daemon follows it (`telltaled --dev`). */
async function followKinds() {
    // No `ask`, which would want a token: who may not read figures misses these words alone.
    const read = () => fetch("/v1/stats", { credentials: "same-origin" }).then(answer => (answer.ok ? answer.json() : null)).then(figures => figures?.kindFolder).catch(() => null);
    let last = await read();
    if (!last) return;
    const fault = el("p.kinds-fault", { role: "alert", hidden: true, data: { testid: "kinds-fault" } });
    document.getElementById("main").before(fault);
    const show = folder => {
        fault.hidden = folder.inForce;
        fault.textContent = folder.inForce ? "" : `The kinds were not reloaded; the old ones stay in force.\n${folder.text}`;
    };
    show(last);
    setInterval(async () => {
        const folder = document.hidden ? null : await read();
        if (!folder || folder.readings === last.readings) return;
        last = folder;
        show(folder);
        if (folder.inForce) say(`Kinds reloaded: ${folder.text}`);
    }, 1000);
}

/** Loads a style sheet that one page alone needs. */
function style(name) {
    return new Promise(done => {
        const sheet = el("link", { rel: "stylesheet", href: new URL(`./${name}`, import.meta.url) });
        sheet.addEventListener("load", done);
        sheet.addEventListener("error", done);
        document.head.append(sheet);
    });
}

async function openPage() {
    const main = document.getElementById("main");
    const path = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
    for (const anchor of document.querySelectorAll("nav a")) {
        const isHere = anchor.pathname === "/" ? path.length === 0 : anchor.pathname === `/${path[0]}`;
        if (isHere) anchor.setAttribute("aria-current", "page");
    }
    if (path[0] === "login") return askForToken("/");
    if (path[0] === "kinds") {
        const page = await import("./kinds.js");
        return path[1] ? page.kind(main, path[1]) : page.kinds(main);
    }
    if (path[0] === "boards") {
        const [page] = await Promise.all([import(path[1] ? "./board.js" : "./boards.js"), style("board.css"), style("widgets.css")]);
        return path[1] ? page.board(main, path[1]) : page.boards(main);
    }
    if (path[0] === "playground") {
        const [page] = await Promise.all([import("./playground.js"), style("playground.css")]);
        return page.playground(main);
    }
    if (path.length === 2) return (await import("./wall.js")).wall(main, path.join("/"));
    return (await import("./home.js")).home(main);
}

onUnauthorized(() => askForToken());
startLook();
startSignOut();
startTicking();
document.addEventListener("click", tapping(telltale, text => say(text, "bad")));
openPage();
followKinds();
