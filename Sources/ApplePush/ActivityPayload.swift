internal import Kinds
public import TelltaleModel
public import TelltaleWire

/// The fate of a push that Apple's service would accept.
public enum PushOutcome: Hashable, Sendable {
    /// Post an event to the daemon. The notes report to the sender what the verdict does not.
    case post(EventCommand, notes: [String])
    /// Do nothing: a device would silently drop the push, or it has no meaning here.
    case drop(note: String)
}

/// The payload of a Live Activity's push, for one kind.
public struct ActivityPayload: Sendable {
    public enum Event: String, Hashable, Sendable {
        case start, update, end
    }

    /// The target of a push.
    public enum Address: Hashable, Sendable {
        case start(app: String, kind: String, account: String, release: UInt8)
        case update(Key)
        /// Every device that follows a channel.
        case channel(Key)
    }

    private let aps: JSONObject
    private var notes: [String] = []

    /// The first release of iOS that supports `input-push-channel`.
    public static let channelRelease: UInt8 = 18

    private init(_ aps: JSONObject) {
        self.aps = aps
    }

    /// Reads a payload.
    ///
    /// - Parameters:
    ///   - id: Identifies the push, and becomes the event's id. Together with the token it forms the key of a start
    ///     that names none.
    ///   - source: The event's source.
    /// - Throws: `DeviceTokenNotForTopic` if the token is for the other kind of event.
    public static func read(
        _ payload: JSON?, to address: Address, _ app: PushDirectory.App, id: String, source: String,
        token: String, _ cryptography: PushCryptography
    ) throws(PushRefusal) -> PushOutcome {
        guard let aps = payload?["aps"]?.object else { return .drop(note: "the payload has no object aps") }
        guard let name = aps["event"]?.string, let event = Event(rawValue: name) else {
            return .drop(note: "aps.event is to be start, update or end")
        }
        guard let seconds = aps["timestamp"]?.integer else {
            return .drop(note: "aps.timestamp is missing, or no integer of seconds")
        }
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return .drop(note: "aps.timestamp lies too far away") }
        var reader = ActivityPayload(aps)
        var command: EventCommand
        switch (event, address) {
        case (.start, .start(_, let kind, let account, let release)):
            switch reader.start(kind, app, release: release, id: id, token: token, cryptography) {
            case .failure(let drop): return .drop(note: drop.note)
            case .success(let start): command = start
            }
            if aps["input-push-channel"] == nil { command.accounts = account.isEmpty ? [] : [account] }
        case (.update, .update(let key)), (.update, .channel(let key)):
            switch reader.update(key, app) {
            case .failure(let drop): return .drop(note: drop.note)
            case .success(let update): command = update
            }
        case (.end, .update(let key)), (.end, .channel(let key)):
            command = EventCommand(key: key, type: "end")
            command.tail = reader.tail(["content-state", "dismissal-date"])
        case (.start, .channel): return .drop(note: "a broadcast starts no activity")
        case (.start, .update):
            throw PushRefusal(.deviceTokenNotForTopic, "the token updates an activity; a start needs a start token")
        case (.update, .start), (.end, .start):
            throw PushRefusal(
                .deviceTokenNotForTopic, "the token starts activities; this needs an activity's own token")
        }
        command.source = source
        command.eid = id
        command.happenedAt = Timestamp(milliseconds: milliseconds)
        return .post(command, notes: reader.notes)
    }

    private struct Drop: Error {
        var note: String
    }

    private mutating func start(
        _ kind: String, _ app: PushDirectory.App, release: UInt8, id: String, token: String,
        _ cryptography: PushCryptography
    ) -> Result<EventCommand, Drop> {
        guard aps["alert"]?.object != nil else {
            return .failure(Drop(note: "a start without aps.alert begins nothing"))
        }
        guard let type = aps["attributes-type"]?.string, let activity = app.activity(ofType: type) else {
            return .failure(Drop(note: "aps.attributes-type names no attributes of this app"))
        }
        guard activity.kind == kind else {
            return .failure(Drop(note: "the token starts \(kind), and aps.attributes-type is of \(activity.kind)"))
        }
        guard aps["attributes"]?.object != nil else {
            return .failure(Drop(note: "a start without the object aps.attributes begins nothing"))
        }
        guard aps["content-state"]?.object != nil else {
            return .failure(Drop(note: "a start without the object aps.content-state begins nothing"))
        }
        var identifier: String
        if let channel = aps["input-push-channel"] {
            guard release == 0 || release >= Self.channelRelease else {
                return .failure(Drop(note: "iOS \(release) takes no input-push-channel, so that nothing begins"))
            }
            guard let channel = channel.string, Base64.bytes(channel.utf8, .standard) != nil else {
                return .failure(Drop(note: "aps.input-push-channel is no base64"))
            }
            identifier = PushChannel.identifier(of: channel, cryptography)
        } else if let path = activity.idPath {
            guard let found = text(at: path) else {
                return .failure(Drop(note: "\(path.joined(separator: ".")) holds no id"))
            }
            identifier = found
        } else {
            let digest = cryptography.sha256(Array("\(token.lowercased()) \(id)".utf8))
            identifier = Hexadecimal.text(digest.prefix(8))
        }
        guard let key = Key(kind: kind, id: identifier) else {
            return .failure(Drop(note: "\"\(identifier.prefix(70))\" is no id of a key"))
        }
        var command = EventCommand(key: key, type: "start")
        if let path = activity.eventPath, let event = text(at: path), activity.startsOn.contains(event) {
            command.type = event
        }
        command.tail = tail(["attributes", "content-state", "alert", "stale-date", "relevance-score"])
        return .success(command)
    }

    private mutating func update(_ key: Key, _ app: PushDirectory.App) -> Result<EventCommand, Drop> {
        guard aps["content-state"]?.object != nil else {
            return .failure(Drop(note: "an update without the object aps.content-state changes nothing"))
        }
        var command = EventCommand(key: key, type: "update")
        if let path = app.activity(ofKind: String(key.kind)).eventPath {
            let event = text(at: path)
            if let event, EventName.isValid(event), Event(rawValue: event) == nil {
                command.type = event
            } else {
                notes.append("\(path.joined(separator: ".")) names no event; the content alone is updated")
            }
        }
        command.tail = tail(["content-state", "alert", "stale-date", "relevance-score"])
        return .success(command)
    }

    /// A string or a whole number.
    private func text(at path: [String]) -> String? {
        var value = JSON.object(aps)
        for name in path {
            guard let next = value[name] else { return nil }
            value = next
        }
        return value.string ?? value.integer.map { String($0) }
    }

    private mutating func tail(_ names: [String]) -> JSONObject {
        var tail = JSONObject()
        for name in names {
            guard let value = aps[name] else { continue }
            tail[name] = name == "alert" ? plain(alert: value) : value
        }
        return tail
    }

    /// A device looks localized texts up. A server has none, so it shows the key with its arguments.
    private mutating func plain(alert: JSON) -> JSON {
        guard case .object(var alert) = alert else { return alert }
        for name in ["title", "body"] {
            guard let localized = alert[name]?.object else { continue }
            var words = [localized["loc-key"]?.string ?? ""]
            for argument in localized["loc-args"]?.array ?? [] { words.append(argument.string ?? argument.description) }
            alert[name] = .string(words.joined(separator: " "))
            notes.append("alert.\(name) is looked up by the device; the key is shown here")
        }
        return .object(alert)
    }
}
