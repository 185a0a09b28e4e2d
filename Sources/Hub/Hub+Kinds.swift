internal import FanOut
public import Kinds
internal import Machines
internal import TelltaleModel

/// The kinds' clock of this journal ran at another speed; its dates would mean something else.
public struct SettingsRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    public var journal: Double
    public var asked: Double

    public var description: String {
        "this journal was written with --clock-speed \(journal), not \(asked); start with that speed, or with another --data"
    }
}

// MARK: Kinds and settings, and how they take effect

extension Hub {
    /// Puts `kinds` in force with the next commit: at the start, and on a reload.
    ///
    /// Instances keep the version that they began with.
    ///
    /// - Throws: ``KindRefusal``; the old ones stay in force then.
    public mutating func adopt(_ kinds: [Kind]) throws(KindRefusal) {
        let names = Set(kinds.map(\.name))
        var inUse: [String: Int] = [:]
        for entity in entities.existing where activity(at: entity) != nil && isListed(entity) {
            let name = self.kinds.versions[entities[entity].kind].name
            if !names.contains(name) { inUse[name, default: 0] += 1 }
        }
        if let name = inUse.keys.min() { throw .stillInUse(kind: name, count: inUse[name] ?? 0) }
        for kind in kinds {
            let isChanged = self.kinds.versions.contains {
                $0.name == kind.name && $0.version == kind.version && $0.source != kind.source
            }
            if isChanged { throw .changedWithoutVersion(kind: kind.name, version: kind.version) }
        }
        let types = Dictionary(kinds.map { ($0.name, $0.typeName) }, uniquingKeysWith: { first, _ in first })
        for entity in entities.existing {
            let kind = self.kinds.versions[entities[entity].kind]
            guard let type = types[kind.name], type != kind.typeName else { continue }
            throw .changedType(kind: kind.name, from: kind.typeName, to: type)
        }
        let sorted = kinds.sorted { $0.name < $1.name }
        let known = self.kinds.inForce
        // Those in force, asked for again, take back what still waits.
        let isChange = sorted.map(\.source) != known.map(\.source) || self.kinds.current.isEmpty
        pendingKinds = isChange ? sorted : nil
    }

    /// Lets what decisions depend on take effect with the next commit.
    ///
    /// - Throws: ``SettingsRefusal`` where this history was written by a clock of another speed.
    public mutating func adopt(_ settings: DecisionSettings) throws(SettingsRefusal) {
        guard !hasSettings || settings.clockSpeed == self.settings.clockSpeed else {
            throw SettingsRefusal(journal: self.settings.clockSpeed, asked: settings.clockSpeed)
        }
        if settings != self.settings || !hasSettings { pendingSettings = settings }
    }

    /// After a recovery: no connection of before is there any more, so no provider is, and nothing is in flight.
    public mutating func restart() {
        firstSequence = sequence
        for entity in entities.existing {
            guard let key = entities[entity].key else { continue }
            switch entities[entity].state {
            case .toggle(let toggle):
                if toggle.provider != nil || toggle.flight != nil { pendingInputs.append(.restarted(key)) }
            case .button(let button):
                if button.provider != nil || button.flight != nil { pendingInputs.append(.restarted(key)) }
            case .none, .activity: break
            }
        }
    }

    /// What the hub itself has to say goes first in a batch.
    mutating func takeEffect(at now: HubTime) {
        if let settings = pendingSettings {
            pendingSettings = nil
            batch?.adoptedSettings = settings
            _ = try? record(.settings(settings.json), at: now)
        }
        if let kinds = pendingKinds {
            pendingKinds = nil
            batch?.adoptedKinds = kinds
            _ = try? record(.kinds(kinds.map(\.source)), at: now)
            unalignedKinds.formUnion(rosters.keys)
        }
        let inputs = pendingInputs
        pendingInputs = []
        batch?.taken = inputs
        for input in inputs { _ = try? record(input, at: now) }
        // They come of the kinds, and not again by themselves: with a batch that is taken back they would pile up.
        if batch?.adoptedKinds != nil { for input in consequencesForControls() { _ = try? record(input, at: now) } }
        for kind in unalignedKinds.sorted() { for key in controls(of: kind) { align(key, at: now) } }
        unalignedKinds = []
    }

    /// What new kinds mean for controls, which have no end with which an old version could go: those of a kind that is
    /// gone go with it, the others live by the new version, and new instances exist.
    private func consequencesForControls() -> [JournalEntry] {
        var inputs: [JournalEntry] = []
        for entity in entities.existing {
            guard isControl(entity), let key = entities[entity].key else { continue }
            switch kinds.current[String(key.kind)] {
            case nil: inputs.append(.pruned(key))
            case entities[entity].kind?: break
            case _?: inputs.append(.kindChanged(key))
            }
        }
        return inputs + missingInstances().map { .created($0) }
    }

    /// Controls that their kind files name and that do not exist yet.
    private func missingInstances() -> [Key] {
        kinds.inForce.flatMap { kind -> [Key] in
            let ids: [String]
            switch kind.body {
            case .toggle(let toggle): ids = toggle.instances
            case .button(let button): ids = button.instances
            case .activity: ids = []
            }
            return ids.compactMap { Key(kind: kind.name, id: $0) }.filter { key in
                entities.index(of: key).map { !exists($0) } ?? true
            }
        }
    }

    /// Notes the operation that a control is at, so that its provider's answer finds it.
    mutating func noteFlight(at entity: EntityIndex) {
        guard let key = entities[entity].key else { return }
        switch entities[entity].state {
        case .toggle(let toggle): if let flight = toggle.flight { flights[flight.operation.id.number] = key }
        case .button(let button): if let flight = button.flight { flights[flight.operation.number] = key }
        case .none, .activity: break
        }
    }
}
