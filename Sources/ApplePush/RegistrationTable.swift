internal import TelltaleModel

/// The registrations of a sender of pushes, by what they are for.
struct RegistrationTable: Sendable {
    typealias Watch = PushState.Watch

    private(set) var all: [String: PushRegistration] = [:]
    private var times: [String: Timestamp] = [:]
    private var idsByWatch: [Watch: Set<String>] = [:]
    private var broadByWatch: [Watch: Set<String>] = [:]
    private var idsByKey: [Watch: [Key: Set<String>]] = [:]
    private var changed: Set<String> = []

    /// The watches that the registrations need, sorted.
    var watches: [Watch] { idsByWatch.keys.sorted() }

    func isWatched(_ watch: Watch) -> Bool { idsByWatch[watch] != nil }

    func ids(in watch: Watch) -> [String] { idsByWatch[watch, default: []].sorted() }

    /// The registrations for one activity.
    func ids(of key: Key, in watch: Watch) -> [String] { idsByKey[watch]?[key]?.sorted() ?? [] }

    /// The registrations for all activities of a watch's kind, and for reloads of it.
    func broadIDs(in watch: Watch) -> [String] { broadByWatch[watch, default: []].sorted() }

    /// The tokens that start activities of a watch's kind.
    func startIDs(in watch: Watch) -> [String] {
        broadIDs(in: watch).filter { if case .start? = all[$0]?.subject { true } else { false } }
    }

    /// When a token was registered last.
    func time(of id: String) -> Timestamp? { times[id] }

    mutating func restore(_ registration: PushRegistration, at time: Timestamp) {
        all[registration.id] = registration
        times[registration.id] = time
        idsByWatch[registration.watch, default: []].insert(registration.id)
        if let key = registration.key {
            idsByKey[registration.watch, default: [:]][key, default: []].insert(registration.id)
        } else {
            broadByWatch[registration.watch, default: []].insert(registration.id)
        }
    }

    mutating func insert(_ registration: PushRegistration, at now: Timestamp) {
        restore(registration, at: now)
        changed.insert(registration.id)
    }

    mutating func remove(_ id: String) -> PushRegistration? {
        guard let registration = all.removeValue(forKey: id) else { return nil }
        times[id] = nil
        changed.insert(id)
        let watch = registration.watch
        idsByWatch[watch]?.remove(id)
        broadByWatch[watch]?.remove(id)
        if let key = registration.key { idsByKey[watch]?[key]?.remove(id) }
        if idsByWatch[watch]?.isEmpty == true {
            idsByWatch[watch] = nil
            idsByKey[watch] = nil
            broadByWatch[watch] = nil
        }
        return registration
    }

    /// What has changed since the last call, sorted.
    mutating func takeChanges(at now: Timestamp) -> [(id: String, registration: PushRegistration?, at: Timestamp)] {
        defer { changed = [] }
        return changed.sorted().map { ($0, all[$0], times[$0] ?? now) }
    }
}
