/// What became of an event that was accepted (protocol.md §3). Always answered with `OK`.
public enum Verdict: String, CaseIterable, Hashable, Sendable {
    case applied, noop, duplicate, stale, ignored, deferred
}
