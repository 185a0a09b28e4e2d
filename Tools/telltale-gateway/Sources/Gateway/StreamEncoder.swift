internal import TelltaleModel
public import TelltaleWire

/// Turns pushes of the daemon into the events of a stream, and keeps the position of each subscription.
public struct StreamEncoder: Sendable {
    public enum Format: Sendable {
        /// `text/event-stream`.
        case serverSentEvents
        /// `application/x-ndjson`: an object a line, with `event` and `id` as members.
        case lines
    }

    public let format: Format
    /// The cursor of each subscription, byte for byte as the daemon gave it; empty for one that has none.
    public private(set) var cursors: [[UInt8]]
    /// The newest commit that an event named. Cursors alone would not do: they may be older than the rows before them.
    private var newestCommit: HistoryPosition?
    /// How many events of each name were written since ``takeCounts()``.
    private var counts: [Int]

    /// Avoids `open`, `error` and `message`, which EventSource uses itself.
    public static let eventNames = ["hello", "row", "gone", "live", "reset", "milestone", "alert", "mark", "bye"]

    public init(_ format: Format, cursors: [Cursor?]) {
        self.format = format
        self.cursors = cursors.map { $0.map { Array($0.description.utf8) } ?? [] }
        counts = Array(repeating: 0, count: Self.eventNames.count)
    }

    /// The cursors of all subscriptions, as an event's `id`.
    public var id: [UInt8] {
        var bytes: [UInt8] = []
        for (index, cursor) in cursors.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "~")) }
            if cursor.isEmpty { bytes.append(UInt8(ascii: "-")) } else { bytes += cursor }
        }
        return bytes
    }

    /// Begins a connection to a daemon of a history.
    ///
    /// - Parameter epoch: The history.
    /// - Returns: The newest commit of it that this stream has shown; `nil` = none.
    public mutating func begin(_ epoch: String) -> HistoryPosition? {
        guard let start = HistoryPosition("\(epoch):0") else { return nil }
        if newestCommit?.epoch != start.epoch { newestCommit = start }
        for cursor in cursors {
            guard let cursor = Cursor(String(decoding: cursor, as: UTF8.self)), cursor.epoch == start.epoch else {
                continue
            }
            note(cursor.sequence)
        }
        return newestCommit.flatMap { $0.sequence > 0 ? $0 : nil }
    }

    private mutating func note(_ sequence: Int64) {
        if let newest = newestCommit?.sequence, newest < sequence { newestCommit?.sequence = sequence }
    }

    /// Events since the last call, as pairs of ``eventNames``' index and a number.
    public mutating func takeCounts() -> [(index: Int, count: Int)] {
        var result: [(index: Int, count: Int)] = []
        for index in counts.indices where counts[index] > 0 {
            result.append((index, counts[index]))
            counts[index] = 0
        }
        return result
    }

    // MARK: Events of the gateway

    /// Writes the first event, preceded by the time that a browser waits before it reconnects.
    public mutating func open(_ members: [UInt8], into out: inout [UInt8]) {
        if format == .serverSentEvents { out.append("retry: 2000\n\n") }
        begin("hello", 0, hasID: false, into: &out)
        out += members
        end(into: &out)
    }

    /// - Parameter wait: Milliseconds after which the client should reconnect.
    public mutating func bye(code: String, wait: Int, into out: inout [UInt8]) {
        if format == .serverSentEvents {
            out.append("retry: ")
            out.append(decimal: wait)
            out.append("\n")
        }
        begin("bye", 8, hasID: false, into: &out)
        out.append("\"code\":")
        out += JSON.string(code).text
        out.append(",\"wait\":")
        out.append(decimal: wait)
        end(into: &out)
    }

    public mutating func reset(subscription: Int, why: StaticString, into out: inout [UInt8]) {
        begin("reset", 4, hasID: false, into: &out)
        out.append("\"sub\":")
        out.append(decimal: subscription)
        out.append(",\"why\":\"")
        out.append(why)
        out.append("\"")
        end(into: &out)
    }

    // MARK: Events of the daemon

    /// Writes the event for a push; nothing for any other line, or for one that a stream does not forward.
    ///
    /// - Returns: Whether it was a push.
    @discardableResult
    public mutating func encode(_ line: Span<UInt8>, into out: inout [UInt8]) -> Bool {
        let push = PushLine(line)
        let verb = line.extracting(push.verb)
        if verb.equals("UPD") {
            row(push, line, isSnapshot: false, into: &out)
        } else if verb.equals("SNAP") {
            row(push, line, isSnapshot: true, into: &out)
        } else if verb.equals("DEL") {
            entity("gone", 2, push, line, into: &out)
            end(into: &out)
        } else if verb.equals("LIVE") {
            begin("live", 3, hasID: advance(push, line), into: &out)
            subscription(push, line, into: &out)
            end(into: &out)
        } else if verb.equals("RESET") {
            if let index = index(push, line) { cursors[index] = [] }
            begin("reset", 4, hasID: false, into: &out)
            subscription(push, line, into: &out)
            member(",\"why\":", quoted: push.why, line, into: &out)
            end(into: &out)
        } else if verb.equals("MILE") {
            entity("milestone", 5, push, line, into: &out)
            end(into: &out)
        } else if verb.equals("ALERT") {
            alert(push, line, into: &out)
        } else if verb.equals("MARK") {
            begin("mark", 7, hasID: advance(push, line), into: &out)
            out.append("\"now\":")
            if push.now.isEmpty { out.append("0") } else { out.append(line, push.now) }
            end(into: &out)
        } else {
            return false
        }
        return true
    }

    private mutating func row(_ push: PushLine, _ line: Span<UInt8>, isSnapshot: Bool, into out: inout [UInt8]) {
        entity("row", 1, push, line, isSnapshot: isSnapshot, into: &out)
        out.append(",\"row\":")
        if let tail = push.tail { out.append(line, tail..<line.count) } else { out.append("{}") }
        end(into: &out)
    }

    private mutating func alert(_ push: PushLine, _ line: Span<UInt8>, into out: inout [UInt8]) {
        entity("alert", 6, push, line, into: &out)
        // The members of the tail stand beside those of the head.
        if let tail = push.tail, tail + 2 < line.count {
            out.append(",")
            out.append(line, tail + 1..<line.count - 1)
        }
        end(into: &out)
    }

    // MARK: Parts

    /// Takes the cursor of a line.
    private mutating func advance(_ push: PushLine, _ line: Span<UInt8>) -> Bool {
        guard !push.cursor.isEmpty, let index = index(push, line) else { return false }
        cursors[index].removeAll(keepingCapacity: true)
        cursors[index].append(line, push.cursor)
        return true
    }

    private func index(_ push: PushLine, _ line: Span<UInt8>) -> Int? {
        guard let number = line.number(push.sub), let index = Int(exactly: number - 1) else { return nil }
        return cursors.indices.contains(index) ? index : nil
    }

    private mutating func begin(_ name: StaticString, _ index: Int, hasID: Bool, into out: inout [UInt8]) {
        counts[index] += 1
        switch format {
        case .serverSentEvents:
            out.append("event: ")
            out.append(name)
            if hasID {
                out.append("\nid: ")
                out += id
            }
            out.append("\ndata: {")
        case .lines:
            out.append("{\"event\":\"")
            out.append(name)
            if hasID {
                out.append("\",\"id\":\"")
                out += id
            }
            out.append("\",")
        }
    }

    private func end(into out: inout [UInt8]) {
        switch format {
        case .serverSentEvents: out.append("}\n\n")
        case .lines: out.append("}\n")
        }
    }

    private func subscription(_ push: PushLine, _ line: Span<UInt8>, into out: inout [UInt8]) {
        out.append("\"sub\":")
        if push.sub.isEmpty { out.append("0") } else { out.append(line, push.sub) }
    }

    /// The beginning of an event about one key, with the line's attributes.
    private mutating func entity(
        _ name: StaticString, _ number: Int, _ push: PushLine, _ line: Span<UInt8>, isSnapshot: Bool = false,
        into out: inout [UInt8]
    ) {
        begin(name, number, hasID: advance(push, line), into: &out)
        if let rev = line.number(push.rev) { note(rev) }
        subscription(push, line, into: &out)
        member(",\"key\":", quoted: push.key, line, into: &out)
        member(",\"rev\":", plain: push.rev, line, into: &out)
        if isSnapshot { out.append(",\"snap\":true") }
        member(",\"skip\":", plain: push.skip, line, into: &out)
        member(",\"why\":", quoted: push.why, line, into: &out)
        member(",\"state\":", quoted: push.state, line, into: &out)
        member(",\"at\":", plain: push.at, line, into: &out)
    }

    private func member(
        _ name: StaticString, quoted range: Range<Int>, _ line: Span<UInt8>, into out: inout [UInt8]
    ) {
        guard !range.isEmpty else { return }
        out.append(name)
        out.append(quoted: line, range)
    }

    private func member(_ name: StaticString, plain range: Range<Int>, _ line: Span<UInt8>, into out: inout [UInt8]) {
        guard !range.isEmpty else { return }
        out.append(name)
        out.append(line, range)
    }
}
