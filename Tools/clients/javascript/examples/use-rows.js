// A React hook: the rows of a pattern, kept as they are now. One stream serves all components of a page.
//
//     const { rows, isCurrent } = useRows(telltale, "coffee-order/*", { view: "watch" });

import { useMemo, useSyncExternalStore } from "react";

const NOTHING = { rows: [], isCurrent: false, error: null };

/** @returns {{rows: {key: string, rev: number, row: object}[], isCurrent: boolean, error: Error|null}} */
export function useRows(telltale, pattern, { view, account } = {}) {
    const store = useMemo(() => {
        let now = NOTHING;
        return {
            subscribe(changed) {
                const follow = telltale.follow(pattern, { view, account }, (change, { rows, isCurrent }) => {
                    // React compares by identity: a new object for each change.
                    now = { rows: [...rows.values()], isCurrent, error: change.error ?? null };
                    changed();
                });
                return () => follow.close();
            },
            read: () => now,
        };
    }, [telltale, pattern, view, account]);
    return useSyncExternalStore(store.subscribe, store.read, () => NOTHING);
}
