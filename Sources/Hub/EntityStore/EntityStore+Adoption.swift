internal import FanOut
internal import Kinds
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

// Whether kinds and settings can take effect.
extension EntityStore {
    /// Whether `kinds` differ from those in force. Instances keep the version that they began with.
    ///
    /// - Throws: ``KindRefusal`` where something lives by a kind that would go, or change its type.
    func isChange(to kinds: [Kind]) throws(KindRefusal) -> Bool {
        let names = Set(kinds.map(\.name))
        let types = Dictionary(kinds.map { ($0.name, $0.typeName) }, uniquingKeysWith: { first, _ in first })
        // Most kinds stay, and then nothing need be looked at: there may be a million.
        let areLeft = self.kinds.versions.allSatisfy { types[$0.name] == $0.typeName }
        var inUse: [String: Int] = [:]
        for entity in entities.existing where !areLeft && activity(at: entity) != nil && isListed(entity) {
            let name = self.kinds.versions[entities[entity].kind].name
            if !names.contains(name) { inUse[name, default: 0] += 1 }
        }
        if let name = inUse.keys.min() { throw .stillInUse(kind: name, count: inUse[name] ?? 0) }
        let known = Dictionary(grouping: self.kinds.versions, by: \.name)
        for kind in kinds {
            let isChanged =
                known[kind.name]?.contains { $0.version == kind.version && $0.source != kind.source } == true
            if isChanged { throw .changedWithoutVersion(kind: kind.name, version: kind.version) }
        }
        for entity in entities.existing where !areLeft && boardItem(at: entity) == nil {
            let kind = self.kinds.versions[entities[entity].kind]
            guard let type = types[kind.name], type != kind.typeName else { continue }
            throw .changedType(kind: kind.name, from: kind.typeName, to: type)
        }
        return kinds.map(\.source) != self.kinds.inForce.map(\.source) || self.kinds.current.isEmpty
    }

    /// Whether `settings` differ from those in force.
    ///
    /// - Throws: ``SettingsRefusal`` where this history was written by a clock of another speed.
    func isChange(to settings: DecisionSettings) throws(SettingsRefusal) -> Bool {
        guard !hasSettings || settings.clockSpeed == self.settings.clockSpeed else {
            throw SettingsRefusal(journal: self.settings.clockSpeed, asked: settings.clockSpeed)
        }
        return settings != self.settings || !hasSettings
    }

    /// By what `kinds` and `settings` differ from those in force, for people: one text for each kind and each setting.
    ///
    /// - Throws: ``SettingsRefusal`` where this history was written by a clock of another speed.
    func differences(from kinds: [Kind], _ settings: DecisionSettings) throws(SettingsRefusal) -> [String] {
        let isOther = try isChange(to: settings)
        let inForce = Dictionary(self.kinds.inForce.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let own = Dictionary(kinds.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var texts: [String] = []
        for name in Set(inForce.keys).union(own.keys).sorted() {
            switch (inForce[name], own[name]) {
            case (let old?, let new?) where old.source != new.source:
                texts.append(
                    old.version == new.version
                        ? "kind \(name) version \(old.version) has another text here"
                        : "kind \(name) has version \(old.version), and version \(new.version) here")
            case (nil, _): texts.append("kind \(name) is here alone")
            case (_, nil): texts.append("kind \(name) is not here")
            case _: break
            }
        }
        guard isOther, let old = self.settings.json.object, let new = settings.json.object else { return texts }
        for (member, other) in zip(old, new) where member.value != other.value {
            texts.append("\(member.name) is \(member.value), and \(other.value) here")
        }
        return texts
    }
}
