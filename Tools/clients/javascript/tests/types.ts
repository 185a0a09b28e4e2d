// Programs that the types allow, and some that they do not. TypeScript checks this file; nothing runs it.

// @ts-types="../src/telltale.d.ts"
import { connect, entryAt, TelltaleError } from "../src/telltale.js";
// @ts-types="../src/shared.d.ts"
import { sharedReads } from "../src/shared.js";

connect("https://gateway.example.com", { fetch: sharedReads() });

const telltale = connect("https://gateway.example.com", { account: "alice", token: async () => "tt_1", timing: { hidden: 1000 } });

export async function screen(): Promise<void> {
    for await (const change of telltale.follow("coffee-order/*", { view: "watch", traits: { luminance: "reduced" } })) {
        if (change.type === "row") console.log(change.key, change.row.view?.title, change.skip ?? 0);
        else if (change.type === "gone") console.log(change.key.length);
        else if (change.type === "alert") console.log(change.title);
        // @ts-expect-error A change to "live" has no key.
        else if (change.type === "live") console.log(change.key);
    }
    const follow = telltale.follow("sales/*", (change, { isCurrent }) => {
        if (change.type === "end") console.log(change.error.code, isCurrent);
    });
    const title: string = entryAt(follow.rows.get("sales/1")?.row ?? {}, telltale.now())?.view.title;
    const cursor: string | null = follow.cursor;
    follow.close();
    try {
        const { verdict, rev } = await telltale.post("coffee-order/1", "start", { attributes: { item: "Flat white" }, accounts: ["alice"] });
        const { result } = await telltale.set("porch-light/front", true, { ifRev: rev });
        console.log(title, cursor, verdict, result === "confirmed");
    } catch (error) {
        if (error instanceof TelltaleError && error.code === "stale_rev") console.log(error.have);
    }
    // @ts-expect-error There is no such view.
    telltale.follow("a/*", { view: "car" });
    // @ts-expect-error A toggle is on or off.
    await telltale.set("a/1", "on");
    // @ts-expect-error Clients are made by connect.
    new (telltale.constructor as typeof import("../src/telltale.d.ts").Telltale)();
}
