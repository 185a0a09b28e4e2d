internal import TelltaleModel
internal import TelltaleStatechart

/// The lint warnings of Protocols/Kinds/README.md that need more than the machine; ``Statechart`` reports the others.
///
/// No warning refuses a kind. Each one detects a mistake that kind files really had.
extension KindReader {
    mutating func lint(
        _ machine: MachineText, accept: [String: String], startsOn: [String], maxLinger: Milliseconds,
        declared: DeclaredNames
    ) {
        var events = EventUse()
        lint(machine.description.root, notes: machine.notes, maxLinger: maxLinger, events: &events)
        for (path, place) in events.reads {
            switch path.root {
            case .attributes: lint(path.names, of: "attributes", declared: declared.attributes, at: place)
            case .content: lint(path.names, of: "content", declared: declared.content, at: place)
            case .event: lint(eventPath: path, at: place)
            }
        }
        for (path, place) in events.timerReads {
            warn(
                place, "\(path) is missing here: a timer brings no event",
                advice: "keep what the event says with an \"assign\", and read content.…")
        }
        lintNames(events, accept: accept, startsOn: startsOn)
        let renamed = Set(accept.values)
        for (name, place) in events.named
        where EventName.lifecycle.contains(name) && !events.raised.contains(name) && !renamed.contains(name) {
            warn(
                place, "\(quoted(name)) is the activity's own life-cycle, and never comes to the machine",
                advice: "rename the event")
        }
        guard !events.hasWildcard else { return }
        let handled = Set(events.named.map(\.name))
        for (incoming, name) in accept.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
        where !handled.contains(name) {
            let place = Self.join("accept", incoming)
            if EventName.lifecycle.contains(name) {
                // An event that starts an activity needs no transition.
                if startsOn.contains(name) { continue }
                warn(
                    place,
                    "nothing handles \(quoted(name)): the machine hears of a renamed event, the activity's life does not",
                    advice: "send type=\(name) itself, or name an event whose \"on\" leads where it should")
            } else {
                warn(place, "nothing handles \(quoted(name))", advice: "add it to an \"on\", or take it out here")
            }
        }
        for (index, name) in startsOn.enumerated()
        where !handled.contains(name) && !EventName.lifecycle.contains(name) {
            warn(
                "startsOn[\(index)]", "nothing handles \(quoted(name))",
                advice: "add it to an \"on\", or take it out here")
        }
    }

    /// Reports names that match no event, no transition or no `send`.
    private mutating func lintNames(_ events: EventUse, accept: [String: String], startsOn: [String]) {
        for name in accept.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            if EventName.lifecycle.contains(name) {
                warn(
                    Self.join("accept", name),
                    "type=\(name) is the activity's own life-cycle, and is taken before anything is renamed",
                    advice: "rename another event, or take it out")
            } else if name.utf8.starts(with: Statechart.donePrefix.utf8) {
                warn(
                    Self.join("accept", name), "no client may send \(quoted(name))",
                    advice: "rename another event, or take it out")
            }
        }
        for (index, name) in startsOn.enumerated()
        where ["update", "end"].contains(name) && !accept.values.contains(name) {
            warn(
                "startsOn[\(index)]", "type=\(name) is the activity's own life-cycle, and starts nothing",
                advice: "name an event of the machine, or take it out")
        }
        for (id, place) in events.cancelled where !events.sentIDs.contains(id) {
            warn(place, "nothing is sent under the id \(quoted(id))", advice: "give the \"send\" that is meant this id")
        }
        guard !events.hasWildcard else { return }
        let heard = Set(events.heard)
        for (name, place) in events.made where !heard.contains(name) && !name.hasPrefix(Statechart.donePrefix) {
            warn(place, "nothing handles \(quoted(name))", advice: "add it to an \"on\", or take it out here")
        }
        for (name, place) in events.parked where !heard.contains(name) {
            warn(
                place, "nothing handles \(quoted(name)): it is parked for ever",
                advice: "add it to an \"on\", or take it out here")
        }
    }

    private mutating func lint(eventPath path: ValuePath, at place: String) {
        guard let name = path.names.first else { return }
        if name == "content" || path.names == ["type"] { return }
        warn(
            place, "\(path) is always missing: an event has its \"type\" and its \"content\"",
            advice: name == "type"
                ? "read event.type, which is a text" : "read event.content.\(path.names.joined(separator: "."))")
    }

    /// The events that a machine accepts, those that it sends, and the values that it reads.
    private struct EventUse {
        /// Events that a state names in a transition or a `defer`.
        var named: [(name: String, place: String)] = []
        /// Events that a transition takes.
        var heard: [String] = []
        var parked: [(name: String, place: String)] = []
        var made: [(name: String, place: String)] = []
        var sentIDs: Set<String> = []
        var cancelled: [(id: String, place: String)] = []
        var hasWildcard = false
        var reads: [(path: ValuePath, place: String)] = []
        /// Paths that are read after a timer fired.
        var timerReads: [(path: ValuePath, place: String)] = []

        var raised: Set<String> { Set(made.map(\.name)) }

        mutating func add(_ actions: [ActionDescription], ofTimer: Bool = false) {
            for description in actions {
                let place = description.location
                switch description.action {
                case .raise(let name): made.append((name, place))
                case .send(let name, _, let id):
                    made.append((name, place))
                    if let id { sentIDs.insert(id) }
                case .assign(let assignments):
                    for case .path(let path) in assignments.map(\.source) { read(path, at: place, ofTimer: ofTimer) }
                case .cancel(let id): cancelled.append((id, place))
                }
            }
        }

        mutating func read(_ path: ValuePath, at place: String, ofTimer: Bool) {
            if ofTimer, path.root == .event { timerReads.append((path, place)) } else { reads.append((path, place)) }
        }
    }

    private mutating func lint(
        _ state: StateDescription, notes: [String: StateNotes], maxLinger: Milliseconds, events: inout EventUse
    ) {
        lintTimes(state, notes: notes[state.location], maxLinger: maxLinger)
        events.add(state.entry + state.exit)
        let parked = state.deferred.map { (name: $0, place: Self.join(state.location, "defer")) }
        events.parked += parked
        events.named += parked
        for transition in state.transitions + state.reopen {
            let isTimer = if case .after = transition.trigger { true } else { false }
            events.add(transition.actions, ofTimer: isTimer)
            for path in transition.condition?.paths ?? [] {
                events.read(path, at: Self.join(transition.location, "guard"), ofTimer: isTimer)
            }
            switch transition.trigger {
            case .event(let name):
                events.named.append((name, transition.location))
                events.heard.append(name)
            case .wildcard: events.hasWildcard = true
            case .always, .after, .done: break
            }
        }
        for child in state.children { lint(child, notes: notes, maxLinger: maxLinger, events: &events) }
    }

    private mutating func lintTimes(_ state: StateDescription, notes: StateNotes?, maxLinger: Milliseconds) {
        if let dismiss = notes?.dismiss {
            lint(dismiss: dismiss, limit: maxLinger, at: Self.join(state.location, "dismiss"))
        }
        guard let stale = notes?.stale else { return }
        let delays = state.transitions.compactMap { transition -> Milliseconds? in
            guard case .after(let delay) = transition.trigger, transition.condition == nil, !transition.targets.isEmpty
            else { return nil }
            return delay
        }
        if let shortest = delays.min(), stale > shortest {
            warn(
                Self.join(state.location, "stale"), "its \"after\" leaves \(quoted(state.key)) before it can go stale",
                advice: "make \"stale\" shorter than the \"after\", or take it out")
        }
    }

    /// Reports dead ends. The compiler knows the states that no transition leaves; `stale`, which ends an activity as
    /// well, is known here.
    mutating func lintDeadEnds(of statechart: Statechart, notes: [String: StateNotes]) {
        for deadEnd in statechart.deadEnds {
            let state = statechart.states[deadEnd.rawValue]
            var outer: StateInformation? = state
            var goesStale = false
            while let current = outer {
                goesStale = goesStale || notes[current.location]?.stale != nil
                outer = current.parent.map { statechart.states[$0.rawValue] }
            }
            guard !goesStale else { continue }
            warn(
                state.location, "nothing ever leaves \(quoted(state.path)), and it never goes stale",
                advice: "make it \"type\": \"final\", or add a transition, an \"after\" or a \"stale\"")
        }
    }

    /// The longest `state=` of a reply, which is an attribute's value (Protocols/Line/line-protocol.md §2), in bytes.
    private static let statePathLimit = 256

    /// Reports machines whose active leaf paths, joined by commas, exceed an attribute's value on the wire.
    mutating func lintPaths(of statechart: Statechart) {
        let states = statechart.states
        var children = [[Int]](repeating: [], count: states.count)
        for (index, state) in states.enumerated() where state.kind != .history {
            if let parent = state.parent { children[parent.rawValue].append(index) }
        }
        // The longest contribution of each state. Children come after their parents.
        var lengths = [Int](repeating: 0, count: states.count)
        for index in states.indices.reversed() {
            let inner = children[index].map { lengths[$0] }
            lengths[index] =
                switch states[index].kind {
                case .parallel: inner.reduce(inner.count - 1, +)
                case .compound: inner.max() ?? 0
                case .atomic, .final, .history: states[index].path.utf8.count
                }
        }
        guard lengths[0] > Self.statePathLimit else { return }
        var place = 0
        while let inner = children[place].first(where: { lengths[$0] > Self.statePathLimit }) { place = inner }
        if states[place].kind == .parallel {
            refuse(
                states[place].location,
                "the paths of its regions' states may be \(lengths[place]) bytes together, \(Self.statePathLimit) are the limit",
                advice: "shorten the keys, or have fewer regions")
        } else {
            refuse(
                states[place].location,
                "the state's path is \(lengths[place]) bytes, \(Self.statePathLimit) are the limit",
                advice: "shorten its key, or those around it")
        }
    }

    mutating func lint(dismiss: Milliseconds, limit: Milliseconds, at path: String) {
        guard dismiss > limit else { return }
        warn(
            path, "it is longer than \"maxLinger\", which cuts it",
            advice: "make it shorter, or \"maxLinger\" longer (4h where it is not given)")
    }

    // MARK: - Templates

    /// - Parameter regions: The keys and the paths of the machine's regions.
    mutating func lint(
        templates: [(template: Template, path: String)], declared: DeclaredNames, regions: [String] = []
    ) {
        for (template, place) in templates {
            for case .value(let path, let filters) in template.parts {
                switch path {
                case .attributes(let names): lint(names, of: "attributes", declared: declared.attributes, at: place)
                case .content(let names): lint(names, of: "content", declared: declared.content, at: place)
                case .unknown, .widget:
                    warn(
                        place, "{{\(path)}} is always empty: there is nothing of this name",
                        advice:
                            "read attributes.…, content.…, state.title, state.key, states.REGION.title, progress, id or kind"
                    )
                case .region(let name, _):
                    guard !regions.contains(name) else { break }
                    warn(
                        place, "{{\(path)}} is always empty: the machine has no region \(quoted(name))",
                        advice: regions.isEmpty
                            ? "read state.title, or add \"regions\""
                            : "its regions are \(regions.joined(separator: ", "))")
                case .stateTitle, .stateKey, .progress, .id, .kind: break
                }
                for case .unknown(let name) in filters {
                    warn(place, "there is no filter \(quoted(name))", advice: "there are \(TemplateFilter.names)")
                }
            }
        }
    }

    private mutating func lint(_ names: [String], of root: String, declared: [String]?, at place: String) {
        guard let declared, let name = names.first, !declared.contains(name) else { return }
        let close = Spelling.nearest(to: name, among: declared)
        warn(
            place, "\(root).\(name) is nowhere declared",
            advice: close.map { "did you mean \(quoted($0))?" } ?? "add \(quoted(name)) to \(quoted(root))")
    }
}

extension EventName {
    /// The types of `EVT` that report the activity's own lifecycle (Protocols/Line/line-protocol.md §4).
    static let lifecycle = ["start", "update", "end"]
}
