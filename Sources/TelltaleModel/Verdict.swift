/// The result of an accepted event (Protocols/Line/line-protocol.md §4). The server always answers it with `OK`.
public enum Verdict: String, CaseIterable, Hashable, Sendable {
    case applied, noop, duplicate, stale, ignored, deferred
}
