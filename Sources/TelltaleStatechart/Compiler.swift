internal import TelltaleModel

/// Turns a description into tables, and tells what is wrong with it.
struct Compiler {
    private(set) var diagnostics: [Diagnostic] = []
    private(set) var states: [StateInformation] = []
    /// See ``Statechart/deadEnds``.
    var deadEnds: [StateIndex] = []

    let root: StateDescription
    private let isAdmitted: Bool
    /// By index.
    private(set) var descriptions: [StateDescription] = []
    private(set) var tree = StateTree()
    private var indicesByPath: [String: Int] = [:]
    private var indicesByKey: [String: [Int]] = [:]
    var tables: Tables

    /// - Parameter isAdmitted: An earlier release took it: what ``refuse(_:_:advice:)`` tells is a warning.
    init(_ description: MachineDescription, isAdmitted: Bool) {
        root = description.root
        self.isAdmitted = isAdmitted
        let none = StateSet(stateCount: 1)
        tables = Tables(
            tree: tree, leaves: none, finals: none, topLevelFinals: none, needsEntryWork: none, hasExitActions: none,
            hasTimers: none, hasHistory: none, hasAlways: none, hasWildcard: none, hasRank: none, initialEntry: none)
    }

    /// - Returns: `nil` where there are errors.
    mutating func compile() -> Tables? {
        number(root, parent: -1, path: "")
        guard states.count <= Statechart.stateLimit else {
            error(root.location, "a machine has at most \(Statechart.stateLimit) states", advice: "split the kind")
            return nil
        }
        for state in descriptions.indices { checkShape(of: state) }
        guard isComposite(0) else { return nil }
        resolveInitials()
        // What is entered is defined for sound trees only.
        if hasErrors {
            for state in descriptions.indices { checkTargets(of: state) }
            return nil
        }
        internNames()
        makeSets()
        for state in descriptions.indices { compile(state: state) }
        guard !hasErrors else { return nil }
        makeHearers()
        lint()
        return hasErrors ? nil : tables
    }

    var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

    mutating func error(_ location: String, _ message: String, advice: String) {
        diagnostics.append(Diagnostic(shortening: .error, path: location, message, advice: advice))
    }

    /// An error, unless a machine with this fault runs already: it can be lived with, and a journal must be read.
    mutating func refuse(_ location: String, _ message: String, advice: String) {
        if isAdmitted {
            warn(location, message, advice: advice)
        } else {
            error(location, message, advice: advice)
        }
    }

    mutating func warn(_ location: String, _ message: String, advice: String) {
        diagnostics.append(Diagnostic(shortening: .warning, path: location, message, advice: advice))
    }

    func name(of state: Int) -> String { state == 0 ? "the machine" : quoted(states[state].path) }

    // MARK: States and names

    private mutating func number(_ description: StateDescription, parent: Int, path: String) {
        let index = states.count
        let kind: StateInformation.Kind
        var node = StateTree.Node(kind: .atomic, parent: parent, end: index + 1)
        switch description.kind {
        case .atomic: kind = .atomic
        case .compound:
            kind = .compound
            node.kind = .compound
        case .parallel:
            kind = .parallel
            node.kind = .parallel
        case .final:
            kind = .final
            node.kind = .final
        case .history(let deep, _):
            kind = .history
            node.kind = .history(deep: deep)
        }
        states.append(
            StateInformation(
                key: description.key, path: path, parent: parent < 0 ? nil : StateIndex(rawValue: parent), kind: kind,
                location: description.location))
        descriptions.append(description)
        tree.nodes.append(node)
        if index > 0 {
            // A second one of the same path is told of below; the first keeps the name.
            if indicesByPath[path] == nil { indicesByPath[path] = index }
            indicesByKey[description.key, default: []].append(index)
        }
        var children = description.children
        if kind == .compound {
            // Of an order that nobody meant anything by, one is as good as another, as long as it is always the same.
            children.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        }
        for child in children where states.count <= Statechart.stateLimit {
            let childIndex = states.count
            number(child, parent: index, path: index == 0 ? child.key : "\(path).\(child.key)")
            if case .history = child.kind {
                tree.nodes[index].histories.append(childIndex)
            } else {
                tree.nodes[index].children.append(childIndex)
            }
        }
        tree.nodes[index].end = states.count
    }

    private mutating func checkShape(of state: Int) {
        let location = descriptions[state].location
        let node = tree.nodes[state]
        if state > 0, !Self.isKey(states[state].key) {
            error(
                location, "\(quoted(states[state].key)) is not a state's key",
                advice: "use 1 to 64 of A-Z, a-z, 0-9, _ and -")
        }
        var keys: Set<String> = []
        for child in node.children + node.histories where !keys.insert(states[child].key).inserted {
            error(
                descriptions[child].location, "\(name(of: state)) has two states \(quoted(states[child].key))",
                advice: "give each a key of its own")
        }
        switch node.kind {
        case .compound:
            if node.children.isEmpty {
                error(location, "\(name(of: state)) has no states", advice: "add a state, or drop its `states`")
            }
        case .parallel:
            if node.children.isEmpty {
                error(location, "\(name(of: state)) has no regions", advice: "add a region to its `regions`")
            }
            for region in node.children where tree.nodes[region].kind == .final {
                error(
                    descriptions[region].location, "the region \(name(of: region)) is a final state",
                    advice: "make it a state with `states`, one of them final")
            }
        case .atomic, .final, .history:
            if state == 0 {
                error(location, "the machine has no states", advice: "give it `initial` and `states`, or `regions`")
            }
            if !node.children.isEmpty || !node.histories.isEmpty {
                error(
                    location, "\(name(of: state)) cannot have states of its own",
                    advice: "drop its `type`, or its `states`")
            }
        }
    }

    private static func isKey(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The state of this name: a path, else a key that only one state has.
    ///
    /// - Parameter container: The state whose `initial` is asked for: its children's keys go first, and a path may begin
    ///   below it.
    mutating func resolve(_ name: String, in container: Int? = nil, at location: String) -> Int? {
        if let container {
            let children = tree.nodes[container].children + tree.nodes[container].histories
            if let child = children.first(where: { states[$0].key == name }) { return child }
        }
        if let index = find(name) { return index }
        let candidates = indicesByKey[name] ?? []
        if let container, container > 0, let index = indicesByPath["\(states[container].path).\(name)"] { return index }
        if candidates.isEmpty {
            error(location, "there is no state \(quoted(name))", advice: "name a state by its path, or by its key")
        } else {
            let paths = candidates.prefix(3).map { quoted(states[$0].path) }.joined(separator: ", ")
            let more = candidates.count > 3 ? ", or \(candidates.count - 3) more" : ""
            error(location, "\(quoted(name)) may be any of \(paths)\(more)", advice: "name the state by its path")
        }
        return nil
    }

    /// Without a word where there is none, or several.
    func find(_ name: String) -> Int? {
        if let index = indicesByPath[name] { return index }
        guard let candidates = indicesByKey[name], candidates.count == 1 else { return nil }
        return candidates[0]
    }

    // MARK: Initial and default states

    private mutating func resolveInitials() {
        for state in descriptions.indices {
            let location = descriptions[state].location
            switch descriptions[state].kind {
            case .compound(let initial):
                if initial.isEmpty {
                    error(
                        location, "\(name(of: state)) has no `initial`",
                        advice: "say which of its states is entered first")
                }
                let place = "\(location).initial"
                let targets = initial.compactMap { resolve($0, in: state, at: place) }
                tree.nodes[state].initial = targets
                for target in targets where !tree.isDescendant(target, of: state) {
                    error(
                        place, "\(name(of: target)) is not inside of \(name(of: state))",
                        advice: "name one of its own states")
                }
                checkOrthogonal(targets, at: place)
            case .history(_, let names):
                let place = "\(location).target"
                let parent = tree.nodes[state].parent
                let targets = names.compactMap { resolve($0, at: place) }
                for target in targets {
                    if case .history = tree.nodes[target].kind {
                        error(
                            place, "a history state's default is the history state \(name(of: target))",
                            advice: "name an ordinary state")
                    } else if !tree.isDescendant(target, of: parent) {
                        error(
                            place, "\(name(of: target)) is not inside of \(name(of: parent))",
                            advice: "name a state beside the history state, or inside of one")
                    }
                }
                checkOrthogonal(targets, at: place)
                tree.nodes[state].initial = targets
            case .atomic, .parallel, .final: break
            }
        }
        // A history state without a default enters what its parent would.
        for state in descriptions.indices {
            guard case .history = tree.nodes[state].kind, tree.nodes[state].initial.isEmpty else { continue }
            let parent = tree.nodes[state].parent
            guard parent >= 0 else { continue }
            switch tree.nodes[parent].kind {
            case .parallel: tree.nodes[state].initial = tree.nodes[parent].children
            case .compound where !tree.nodes[parent].initial.contains(where: { isHistory($0, of: parent) }):
                tree.nodes[state].initial = tree.nodes[parent].initial
            case .compound, .atomic, .final, .history:
                error(
                    descriptions[state].location,
                    "\(name(of: state)) is what \(name(of: parent)) begins with, and has no default",
                    advice: "give it a `target`")
            }
        }
    }

    private func isHistory(_ state: Int, of parent: Int) -> Bool { tree.nodes[parent].histories.contains(state) }

    mutating func checkOrthogonal(_ targets: [Int], at location: String) {
        for (position, left) in targets.enumerated() {
            for right in targets[(position + 1)...] where !tree.areOrthogonal(left, right) {
                error(
                    location, "\(name(of: left)) and \(name(of: right)) cannot be entered together",
                    advice: "name states in different regions of one parallel state")
            }
        }
    }

    /// Names alone, for a machine that will not be compiled: people want all their errors at once.
    private mutating func checkTargets(of state: Int) {
        for transition in descriptions[state].transitions + descriptions[state].reopen {
            _ = resolveTargets(of: transition)
            if let condition = transition.condition { _ = compile(condition, at: transition.location) }
        }
    }

    mutating func resolveTargets(of transition: TransitionDescription) -> [Int] {
        var targets: [Int] = []
        for name in transition.targets {
            if let target = resolve(name, at: transition.location) { targets.append(target) }
        }
        if targets.count == transition.targets.count { checkOrthogonal(targets, at: transition.location) }
        return targets
    }

    // MARK: Events

    private mutating func internNames() {
        var events: Set<[UInt8]> = []
        var ids: Set<[UInt8]> = []
        func collect(_ actions: [ActionDescription]) {
            for action in actions {
                switch action.action {
                case .assign: break
                case .raise(let event): events.insert(Array(event.utf8))
                case .send(let event, _, let id):
                    events.insert(Array(event.utf8))
                    if let id { ids.insert(Array(id.utf8)) }
                case .cancel(let id): ids.insert(Array(id.utf8))
                }
            }
        }
        for (state, description) in descriptions.enumerated() {
            collect(description.entry)
            collect(description.exit)
            for transition in description.transitions + description.reopen {
                collect(transition.actions)
                if case .event(let name) = transition.trigger { events.insert(Array(name.utf8)) }
            }
            for name in description.deferred { events.insert(Array(name.utf8)) }
            if isDoable(state) { events.insert(Array(doneName(of: state).utf8)) }
        }
        func sorted(_ names: Set<[UInt8]>) -> [String] {
            names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
        }
        tables.events = EventNames(sorted: sorted(events))
        tables.sendIDs = sorted(ids)
    }

    private func isComposite(_ state: Int) -> Bool {
        switch tree.nodes[state].kind {
        case .compound, .parallel: true
        case .atomic, .final, .history: false
        }
    }

    func isDoable(_ state: Int) -> Bool { state > 0 && isComposite(state) }

    func doneName(of state: Int) -> String { Statechart.donePrefix + states[state].path }

    func event(_ name: String) -> Int { tables.events.index(of: name) }

    func sendID(_ name: String?) -> Int {
        guard let name else { return -1 }
        return tables.sendIDs.firstIndex { $0.utf8.elementsEqual(name.utf8) } ?? -1
    }

    // MARK: Sets

    private mutating func makeSets() {
        let count = states.count
        var slot = 0
        for parent in tree.nodes.indices {
            let first = slot
            for state in tree.nodes[parent].histories {
                guard case .history(let deep) = tree.nodes[state].kind else { continue }
                var candidates = StateSet(stateCount: count)
                if deep {
                    for inner in parent + 1..<tree.nodes[parent].end where isLeaf(inner) { candidates.insert(inner) }
                } else {
                    for child in tree.nodes[parent].children { candidates.insert(child) }
                }
                tables.historyStates.append(HistoryEntry(isDeep: deep, candidates: candidates))
                tree.nodes[state].historySlot = slot
                slot += 1
            }
            tables.histories.append(first..<slot)
        }
        let none = StateSet(stateCount: count)
        tables.tree = tree
        tables.states = states
        tables.leaves = none
        tables.finals = none
        tables.topLevelFinals = none
        tables.needsEntryWork = none
        tables.hasExitActions = none
        tables.hasTimers = none
        tables.hasHistory = none
        tables.hasAlways = none
        tables.hasWildcard = none
        tables.hasRank = none
        tables.isParallel = tree.nodes[0].kind == .parallel
        for state in tree.nodes.indices {
            if isLeaf(state) { tables.leaves.insert(state) }
            if tree.nodes[state].kind == .final {
                tables.finals.insert(state)
                if tree.nodes[state].parent == 0 { tables.topLevelFinals.insert(state) }
            }
            if !tree.nodes[state].histories.isEmpty { tables.hasHistory.insert(state) }
            if rank(of: state) != nil { tables.hasRank.insert(state) }
            tables.ranks.append(rank(of: state))
            tables.parents.append(tree.nodes[state].parent)
            tables.doneEvents.append(isDoable(state) ? event(doneName(of: state)) : -1)
        }
        var entry = EntrySet(tree: tree, history: [])
        entry.addWithDescendants(0)
        tables.initialEntry = entry.states
        tables.initialUsesHistory = entry.usesHistory
    }

    func isLeaf(_ state: Int) -> Bool {
        switch tree.nodes[state].kind {
        case .atomic, .final: true
        case .compound, .parallel, .history: false
        }
    }

    private mutating func makeHearers() {
        tables.hearers = [StateSet](repeating: tables.hasWildcard, count: tables.events.names.count)
        for state in tree.nodes.indices {
            for trigger in tables.stateTriggers[state] { tables.hearers[tables.triggers[trigger].event].insert(state) }
        }
    }
}
