internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

/// Settings that cannot take effect in a history.
public enum SettingsRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds' clock of this journal ran at another speed, so its dates would change their meaning.
    case clockSpeed(journal: Double, asked: Double)

    public var description: String {
        switch self {
        case .clockSpeed(let journal, let asked):
            "this journal was written with --clock-speed \(journal), not \(asked); start with that speed, or with another --data"
        }
    }
}

// Whether kinds and settings can take effect.
extension EntityStore {
    /// Whether `kinds` differ from those in force. Instances keep the version that they began with.
    ///
    /// - Throws: ``KindRefusal`` if a key still uses a kind that would go or change its type.
    func isChange(to kinds: [Kind]) throws(KindRefusal) -> Bool {
        let names = Set(kinds.map(\.name))
        let types = Dictionary(kinds.map { ($0.name, $0.typeName) }, uniquingKeysWith: { first, _ in first })
        // Most kinds stay, and then no key has to be examined: there may be a million.
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

    /// The `settings` as they take effect in this history: with its rules, if they name none or older ones. Decisions made under newer
    /// rules would be decided differently, so a history does not go back.
    ///
    /// - Returns: `nil` if those in force are the same.
    /// - Throws: ``SettingsRefusal`` if they cannot take effect.
    func change(to settings: DecisionSettings) throws(SettingsRefusal) -> DecisionSettings? {
        var settings = settings
        guard hasSettings else {
            settings.rules = settings.rules ?? .newest
            return settings
        }
        guard settings.clockSpeed == self.settings.clockSpeed else {
            throw .clockSpeed(journal: self.settings.clockSpeed, asked: settings.clockSpeed)
        }
        settings.rules = max(settings.rules ?? rules, rules)
        return settings == self.settings ? nil : settings
    }

    /// The differences between the proposal and what is in force, for people: one text for each kind and each setting.
    ///
    /// - Throws: ``SettingsRefusal`` if the settings cannot take effect.
    func differences(from kinds: [Kind], _ settings: DecisionSettings) throws(SettingsRefusal) -> [String] {
        let change = try change(to: settings)
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
        if let change, let old = self.settings.json.object, let new = change.json.object {
            // The first edition has no member.
            for member in old where member.name != "rules" {
                guard let value = new[member.name], value != member.value else { continue }
                texts.append("\(member.name) is \(member.value), and \(value) here")
            }
        }
        if let own = settings.rules, own != rules {
            let end = own < rules ? ", which a history does not go back to" : ""
            texts.append("rules is \(rules.number), and \(own.number) here\(end)")
        }
        return texts
    }
}
