/// What became of an event that was accepted (line-protocol.md §4). Always answered with `OK`.
public enum Verdict: String, CaseIterable, Hashable, Sendable {
    case applied, noop, duplicate, stale, ignored, deferred
}
