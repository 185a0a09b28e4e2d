public import TelltaleModel

/// What kinds say of themselves, their states and their dates, for rows that name states by their paths.
public struct KindTitles: Hashable, Sendable {
    private struct Entry: Hashable {
        var title: String?
        /// By path, such as `preparing.starter`.
        var states: [String: String]
        /// The paths that views show as timers, such as `content.eta`.
        var dates: Set<String>
    }

    private var entries: [String: Entry] = [:]

    public init() {}

    /// - Parameter definition: The kind file, as `KIND` answers it.
    public mutating func add(_ kind: String, _ definition: JSONObject) {
        var states: [String: String] = [:]
        if let machine = definition["machine"] { Self.collect(machine, path: "", into: &states) }
        var dates: Set<String> = []
        if let views = definition["views"] { Self.collectTimers(views, into: &dates) }
        entries[kind] = Entry(title: Self.text(definition["title"]), states: states, dates: dates)
    }

    /// Whether the definition of the kind is known.
    public func knows(_ kind: String) -> Bool { entries[kind] != nil }

    /// The date in a member of a row, such as `content.eta`: of Unix seconds or milliseconds where the kind shows it as a
    /// timer, else of what can only be Unix milliseconds. `nil` for any other value.
    func date(_ value: JSON, at path: String, of kind: String) -> Timestamp? {
        guard let number = value.integer else { return nil }
        guard entries[kind]?.dates.contains(path) == true else { return RelativeTime.date(number) }
        return RelativeTime.date(number.magnitude > 100_000_000_000 ? number : number * 1000)
    }

    /// The kind's title; without one its name in words.
    public func title(of kind: String) -> String { entries[kind]?.title ?? Self.words(kind) }

    /// The title of a state as a full row names it: the innermost paths with commas between.
    ///
    /// Several states have the title of the parallel state around them. A state without a fixed title has its name.
    public func title(ofState state: String, of kind: String) -> String {
        let paths = state.split(separator: ",").map { $0.split(separator: ".").map(String.init) }
        guard var path = paths.first else { return state }
        let states = entries[kind]?.states ?? [:]
        for other in paths.dropFirst() { path = zip(path, other).prefix { $0 == $1 }.map(\.0) }
        if let title = states[path.joined(separator: ".")] { return title }
        return Self.words(path.last ?? state)
    }

    /// The states of a machine, of a state or of a region. Recursion is bounded by the depth of a kind file.
    private static func collect(_ node: JSON, path: String, into titles: inout [String: String]) {
        func add(_ child: JSON, _ name: String) {
            let own = path.isEmpty ? name : "\(path).\(name)"
            if let title = text(child["title"]) { titles[own] = title }
            collect(child, path: own, into: &titles)
        }
        for state in node["states"]?.object ?? JSONObject() { add(state.value, state.name) }
        for region in node["regions"]?.array ?? [] { if let name = region["id"]?.string { add(region, name) } }
    }

    /// The paths in the templates of timers. Recursion is bounded by the depth of a kind file.
    private static func collectTimers(_ node: JSON, into paths: inout Set<String>) {
        for member in node.object ?? JSONObject() {
            if member.name == "timer", let text = member.value.string, let begin = text.firstRange(of: "{{") {
                paths.insert(String(text[begin.upperBound...].prefix { !"|}".contains($0) }).trimmed)
            } else {
                collectTimers(member.value, into: &paths)
            }
        }
    }

    /// `nil` for a template, which only the server can fill.
    private static func text(_ json: JSON?) -> String? {
        json?.string.flatMap { $0.isEmpty || $0.contains("{{") ? nil : $0 }
    }

    /// `handed_to_carrier` and `coffee-tip` as people write them.
    private static func words(_ name: String) -> String {
        let text = String(name.map { "-_.".contains($0) ? " " : $0 })
        return text.prefix(1).uppercased() + text.dropFirst()
    }
}
