import TelltaleModel
public import TelltaleWire

extension Recording {
    /// The events of the entries, at another beginning; `nil` for an entry that is no event.
    ///
    /// `HISTORY` does not return the accounts of an activity. An account that dismissed a removed activity was among
    /// them.
    ///
    /// - Parameter beginning: Unix milliseconds of the daemon's clock, a whole second.
    public func commands(beginning: Int64) -> [EventCommand?] {
        let audiences = audiences
        return entries.map { command($0, beginning: beginning, for: audiences[$0.key.text] ?? []) }
    }

    private func command(_ entry: Entry, beginning: Int64, for accounts: [String]) -> EventCommand? {
        guard case .event(let type, let source, let eid, let version, let happened, let tail) = entry.action else {
            return nil
        }
        var command = EventCommand(key: entry.key, type: type)
        command.source = source
        command.eid = eid
        command.version = version
        command.happenedAt = happened.map { Timestamp(milliseconds: beginning + $0) }
        command.tail = RecordingClock(beginning: beginning).dates(in: tail)
        command.accounts = accounts
        return command
    }

    /// The accounts of activities, as far as dismissals show them. An account that dismissed an activity was among its
    /// accounts. An activity that some account could not dismiss was addressed to others. When the last dismissal
    /// removed an activity, no other account was left.
    private var audiences: [String: [String]] {
        struct People {
            var members: [String] = []
            var hasStrangers = false
            var isComplete = false
        }
        var people: [String: People] = [:]
        var wasGone: Set<String> = []
        for entry in entries {
            let key = entry.key.text
            if case .dismissed(let account) = entry.action, !wasGone.contains(key) {
                var known = people[key] ?? People()
                if entry.verdict == "ignored" {
                    if !known.members.contains(account) { known.hasStrangers = true }
                } else {
                    if !known.members.contains(account) { known.members.append(account) }
                    known.isComplete = entry.state.hasPrefix("dismissed ")
                }
                people[key] = known
            }
            if entry.state.hasPrefix("dismissed ") { wasGone.insert(key) }
        }
        return people.compactMapValues { known in
            if known.isComplete { return known.members }
            return known.hasStrangers ? known.members + ["somebody-else"] : nil
        }
    }

    /// The differences from another recording of the same events: verdicts and states key by key, and the final views.
    public func differences(from other: Recording) -> [String] {
        var differences: [String] = []
        func byKey(_ recording: Recording) -> [String: [String]] {
            var reported: [String: [String]] = [:]
            for entry in recording.entries {
                // Which connection acts is a fact of the environment; the outcome of its action is compared.
                if case .served = entry.action { continue }
                reported[entry.key.text, default: []].append("\(entry.action.name) \(entry.verdict), \(entry.state)")
            }
            return reported
        }
        let (here, there) = (byKey(self), byKey(other))
        for key in Set(here.keys).union(there.keys).sorted() {
            let (mine, theirs) = (here[key] ?? [], there[key] ?? [])
            guard mine != theirs else { continue }
            let place = zip(mine, theirs).prefix { $0 == $1 }.count
            func text(_ list: [String]) -> String { place < list.count ? list[place] : "nothing" }
            differences.append("\(key), deed \(place + 1): \(text(mine)), and then \(text(theirs))")
        }
        for key in Set(views.keys).union(other.views.keys).sorted() where views[key] != other.views[key] {
            func text(_ body: JSONObject?) -> String { body.map { "\(JSON.object($0))" } ?? "nothing" }
            differences.append("\(key) was shown as \(text(views[key])), and then as \(text(other.views[key]))")
        }
        return differences
    }

    /// By verdict.
    public var verdicts: [String: Int] {
        entries.reduce(into: [:]) { $0[$1.verdict, default: 0] += 1 }
    }
}

extension Recording.Action {
    /// As `HISTORY` calls it.
    var name: String {
        switch self {
        case .event(let type, _, _, _, _, _): type
        case .set(let isOn, _, _): isOn ? "set on" : "set off"
        case .press: "press"
        case .report(let isOn): "report \(isOn.map { $0 ? "on" : "off" } ?? "")"
        case .done: "done"
        case .failed: "failed"
        case .dismissed(let account): "dismissed by \(account)"
        case .served(let isServed): isServed ? "provider-came" : "provider-left"
        }
    }
}
