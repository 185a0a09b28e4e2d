public import TelltaleModel

extension MachineInstance {
    /// Encodes everything but the statechart. State and event numbers are those of that statechart and mean nothing to
    /// another version of it.
    public func encode(to writer: inout BinaryWriter) { write(to: &writer) }

    /// Hashes the bytes that ``encode(to:)`` writes.
    public func combine(into hash: inout StableHash) { write(to: &hash) }

    private func write(to writer: inout some ValueWriter & ~Copyable) {
        Self.write(configuration, to: &writer)
        writer.write(history) { Self.write($1, to: &$0) }
        writer.write(UInt64(timers.count))
        for timer in timers {
            writer.write(timer.deadline)
            switch timer.cause {
            case .after(let index):
                writer.write(UInt8(0))
                writer.write(Int(index))
            case .send(let event, let id):
                writer.write(UInt8(1))
                writer.write(Int(event))
                writer.write(Int(id))
            }
        }
        writer.write(parked) { writer, parked in
            writer.write(parked.event)
            writer.write(parked.content)
        }
    }

    /// Decodes an instance that ``encode(to:)`` wrote with the same statechart, and checks that its configuration is
    /// legal.
    public init(from reader: inout BinaryReader, statechart: Statechart) throws(BinaryError) {
        if let plain = try Self.readPlain(from: &reader, statechart: statechart) {
            self = plain
            return
        }
        self = try Self.read(from: &reader, tables: statechart.tables)
        guard !statechart.isDone(configuration) || (timers.isEmpty && parked.isEmpty) else {
            throw reader.failure("a machine that is done waits for something")
        }
    }

    /// Decodes an instance in one of ``Statechart/plainConfigurations`` that remembers and awaits nothing, as nearly
    /// every instance is. It avoids the tables, because passing them retains two dozen references.
    ///
    /// - Returns: `nil`, and `reader` stays where it is, for any other.
    private static func readPlain(
        from reader: inout BinaryReader, statechart: Statechart
    ) throws(BinaryError) -> MachineInstance? {
        var ahead = reader
        guard try ahead.readUInt64() == 1, let word = try? ahead.readUInt64(),
            statechart.plainConfigurations.contains(word)
        else { return nil }
        // The counts of the history, the timers and the parked events.
        for _ in 0..<3 { guard try ahead.readUInt64() == 0 else { return nil } }
        reader = ahead
        var configuration = StateSet(stateCount: 1)
        configuration.replaceAll(by: word)
        return MachineInstance(configuration: configuration)
    }

    private static func read(from reader: inout BinaryReader, tables: Tables) throws(BinaryError) -> MachineInstance {
        let configuration = try Self.readSet(from: &reader, stateCount: tables.stateCount)
        guard tables.tree.isLegal(configuration, within: 0) else { throw reader.failure("not a configuration") }
        let history = try reader.readArray { reader throws(BinaryError) in
            try Self.readSet(from: &reader, stateCount: tables.stateCount)
        }
        guard history.isEmpty || history.count == tables.historyStates.count else {
            throw reader.failure("not the history of this machine")
        }
        for (slot, remembered) in history.enumerated() where !remembered.isEmpty {
            guard tables.isLegal(remembered, inHistory: slot) else { throw reader.failure("not a history") }
        }
        let timers = try reader.readArray { reader throws(BinaryError) in
            try Self.readTimer(from: &reader, tables: tables)
        }
        var armed: Set<Int32> = []
        for (index, timer) in timers.enumerated() {
            guard index == 0 || timers[index - 1].deadline <= timer.deadline else {
                throw reader.failure("deadlines out of order")
            }
            guard case .after(let after) = timer.cause else { continue }
            guard configuration.contains(tables.timers[Int(after)].state), armed.insert(after).inserted else {
                throw reader.failure("a timer of a state that is not active, or a second one")
            }
        }
        let parked = try reader.readArray { reader throws(BinaryError) in
            let event = try reader.readInt()
            guard tables.events.names.indices.contains(event) else { throw reader.failure("no such event") }
            return ParkedEvent(event: event, content: try reader.readJSON())
        }
        guard timers.count <= Self.pendingLimit, parked.count <= Self.pendingLimit else {
            throw reader.failure("more than \(Self.pendingLimit) timers or parked events")
        }
        var machine = MachineInstance(configuration: configuration)
        machine.history = history
        machine.timers = TimerList(sorted: timers)
        machine.parked = parked
        return machine
    }

    private static func write(_ set: StateSet, to writer: inout some ValueWriter & ~Copyable) {
        // Nearly every set is one word, for which no array is made.
        guard let word = set.word else { return writer.write(set.words) { $0.write($1) } }
        writer.write(UInt64(1))
        writer.write(word)
    }

    private static func readSet(from reader: inout BinaryReader, stateCount: Int) throws(BinaryError) -> StateSet {
        let words = try reader.readArray { reader throws(BinaryError) in try reader.readUInt64() }
        guard let set = StateSet(words: words, stateCount: stateCount) else {
            throw reader.failure("not states of this machine")
        }
        return set
    }

    private static func readTimer(from reader: inout BinaryReader, tables: Tables) throws(BinaryError) -> Timer {
        let deadline = try reader.readTimestamp()
        switch try reader.readByte() {
        case 0:
            let index = try reader.readInt()
            guard tables.timers.indices.contains(index) else { throw reader.failure("no such timer") }
            return Timer(deadline: deadline, cause: .after(Int32(index)))
        case 1:
            let event = try reader.readInt()
            let id = try reader.readInt()
            guard tables.events.names.indices.contains(event), id == -1 || tables.sendIDs.indices.contains(id) else {
                throw reader.failure("no such event, or no such id")
            }
            return Timer(deadline: deadline, cause: .send(event: Int32(event), id: Int32(id)))
        default: throw reader.failure("not a timer")
        }
    }
}

extension StateTree {
    /// Whether `set` holds `state` and exactly the descendants that must be active with it: one child of every compound
    /// state, all regions of every parallel one.
    func isLegal(_ set: StateSet, within state: Int) -> Bool {
        var expected = 0
        func count(_ state: Int) -> Bool {
            guard set.contains(state) else { return false }
            expected += 1
            var active = 0
            for child in nodes[state].children where set.contains(child) {
                active += 1
                guard count(child) else { return false }
            }
            switch nodes[state].kind {
            case .atomic, .final: return true
            case .compound: return active == 1
            case .parallel: return active == nodes[state].children.count
            case .history: return false
            }
        }
        guard count(state) else { return false }
        return set.reduce(0) { count, _ in count + 1 } == expected
    }
}

extension Tables {
    /// Whether entering the states in `remembered` gives a legal configuration.
    func isLegal(_ remembered: StateSet, inHistory slot: Int) -> Bool {
        guard remembered.isSubset(of: historyStates[slot].candidates),
            let parent = histories.firstIndex(where: { $0.contains(slot) })
        else { return false }
        // The ancestors of the remembered states, and for a shallow history the descendants that they enter by default.
        var set = EntrySet(tree: tree, history: [])
        set.add(targets: Array(remembered), below: parent)
        var whole = set.states
        whole.insert(parent)
        guard tree.isLegal(whole, within: parent) else { return false }
        return !historyStates[slot].isDeep || whole.intersection(leaves) == remembered
    }
}
