import TelltaleModel

/// A fault of a recording's file.
public struct RecordingFault: Error, CustomStringConvertible {
    public var line: Int
    public var what: String
    public var description: String { "line \(line): \(what)" }
}

extension Recording {
    /// JSON lines: a head, one line an action, one a view at the end.
    public var lines: [String] {
        var head: JSON = [
            "recording": 1, "end": .integer(end), "deadlines": .integer(Int64(deadlineCount)),
            "kinds": .array(kinds.map { .string($0) }),
        ]
        if !skipped.isEmpty {
            var counts = JSONObject()
            for (name, count) in skipped { counts[name] = .integer(Int64(count)) }
            head = head.merging(["skipped": .object(counts)])
        }
        let views = views.sorted { $0.key < $1.key }.map { key, body -> JSON in
            ["view": .string(key), "body": .object(body)]
        }
        return ([head] + entries.map(\.json) + views).map { "\($0)" }
    }

    /// Whether a file begins as a recording does.
    public static func isRecording(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.first == UInt8(ascii: "{")
    }

    public init(file bytes: [UInt8]) throws(RecordingFault) {
        self.init()
        var number = 0
        var hasHead = false
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard !line.isEmpty else { continue }
            guard let object = (try? JSONParser().parse(Array(line).span))?.object else {
                throw RecordingFault(line: number, what: "is no JSON object")
            }
            if !hasHead {
                guard object["recording"]?.integer == 1 else {
                    throw RecordingFault(line: number, what: "is not the head of a recording: {\"recording\": 1, …}")
                }
                hasHead = true
                end = object["end"]?.integer ?? 0
                deadlineCount = Int(clamping: object["deadlines"]?.integer ?? 0)
            } else if let key = object["view"]?.string {
                guard let body = object["body"]?.object else {
                    throw RecordingFault(line: number, what: "is a view without a body")
                }
                views[key] = body
            } else {
                let entry = Entry(object)
                guard let entry else {
                    throw RecordingFault(
                        line: number,
                        what:
                            "needs at, key, verdict, state and one of event, set, press, report, done, failed, dismissed, served"
                    )
                }
                guard entry.offset >= entries.last?.offset ?? .min else {
                    throw RecordingFault(line: number, what: "is earlier than the line before it")
                }
                entries.append(entry)
            }
        }
        guard hasHead else {
            throw RecordingFault(line: 1, what: "is not the head of a recording: the file is empty")
        }
    }
}

extension Recording.Entry {
    fileprivate var json: JSON {
        var object = JSONObject()
        object["at"] = .integer(offset)
        object["key"] = .string(key.text)
        object["verdict"] = .string(verdict)
        object["state"] = .string(state)
        func value(_ bool: Bool?) -> JSON { bool.map { .bool($0) } ?? JSON.null }
        switch action {
        case .event(let type, let source, let eid, let version, let happened, let tail):
            object["event"] = .string(type)
            if let source { object["src"] = .string(source) }
            if let eid { object["eid"] = .string(eid) }
            if let version { object["ver"] = .integer(version) }
            if let happened { object["happened"] = .integer(happened) }
            if !tail.isEmpty { object["tail"] = .object(tail) }
        case .set(let isOn, let sender, let eid):
            object["set"] = .bool(isOn)
            object["sender"] = .string(sender)
            if let eid { object["eid"] = .string(eid) }
        case .press(let sender, let eid):
            object["press"] = true
            object["sender"] = .string(sender)
            if let eid { object["eid"] = .string(eid) }
        case .report(let isOn): object["report"] = value(isOn)
        case .done(let isOn): object["done"] = value(isOn)
        case .failed(let message): object["failed"] = .string(message ?? "")
        case .dismissed(let account): object["dismissed"] = .string(account)
        case .served(let isServed): object["served"] = .bool(isServed)
        }
        return .object(object)
    }

    fileprivate init?(_ object: JSONObject) {
        guard let offset = object["at"]?.integer, let key = object["key"]?.string.flatMap({ Key($0) }),
            let verdict = object["verdict"]?.string, let state = object["state"]?.string
        else { return nil }
        let eid = object["eid"]?.string
        let action: Recording.Action
        if let type = object["event"]?.string {
            action = .event(
                type: type, source: object["src"]?.string, eid: eid, version: object["ver"]?.integer,
                happened: object["happened"]?.integer, tail: object["tail"]?.object ?? JSONObject())
        } else if let isOn = object["set"]?.bool {
            action = .set(isOn, sender: object["sender"]?.string ?? "-", eid: eid)
        } else if object["press"] != nil {
            action = .press(sender: object["sender"]?.string ?? "-", eid: eid)
        } else if let value = object["report"] {
            action = .report(value.bool)
        } else if let value = object["done"] {
            action = .done(value.bool)
        } else if let message = object["failed"]?.string {
            action = .failed(message.isEmpty ? nil : message)
        } else if let account = object["dismissed"]?.string {
            action = .dismissed(account: account)
        } else if let isServed = object["served"]?.bool {
            action = .served(isServed)
        } else {
            return nil
        }
        self.init(offset: offset, key: key, action: action, verdict: verdict, state: state)
    }
}
