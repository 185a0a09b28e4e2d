/** Types of the module `shared.js`. README.md has an example. */

/**
 * A `fetch` for `connect(url, { fetch: sharedReads() })`: a stream is made of reads of `/v1/rows`, whose answers caches share. All other
 * requests are sent as they are.
 */
export function sharedReads(options?: { fetch?: typeof fetch }): typeof fetch;
