public import TelltaleModel

/// What a server says first (line-protocol.md §3).
public struct Greeting: Hashable, Sendable {
    /// The lineage of the history.
    public var epoch: UInt64
    /// The newest durable commit.
    public var sequence: Int64
    /// The server's clock.
    public var now: Timestamp
    /// How many times as fast as real time that clock runs; told unless it is 1.
    public var speed = 1.0
    /// Milliseconds of silence after which the server sends a `MARK`.
    public var heartbeat: Int
    public var lineLengthLimit = WireLimits.lineLength
    public var authentication = "none"
    /// The version of the server.
    public var server: String

    public init(epoch: UInt64, sequence: Int64, now: Timestamp, heartbeat: Int, server: String) {
        self.epoch = epoch
        self.sequence = sequence
        self.now = now
        self.heartbeat = heartbeat
        self.server = server
    }
}

/// Why a server says that it closes a connection.
public enum ByeCode: String, CaseIterable, Hashable, Sendable {
    /// It is going down, or restarting: come back after a random wait.
    case drain = "shutting_down"
}

extension LineWriter {
    /// The version of the protocol, which changes only on a break.
    public static let protocolVersion = 1

    public mutating func greeting(_ greeting: Greeting) {
        begin("TELLTALE")
        buffer.append(UInt8(ascii: " "))
        buffer.append(decimal: Int64(Self.protocolVersion))
        append(" epoch=")
        buffer.append(hexadecimal: greeting.epoch, digits: 16)
        attribute("seq", greeting.sequence)
        attribute("now", greeting.now)
        if greeting.speed != 1 { attribute("speed", JSON(greeting.speed).description) }
        attribute("hb", greeting.heartbeat)
        attribute("max_line", greeting.lineLengthLimit)
        attribute("auth", greeting.authentication)
        attribute("server", greeting.server)
        end()
    }

    /// Begins an `OK`; attributes, ``ignored(_:)``, a tail and ``end()`` follow.
    public mutating func beginOK(id: String?) {
        append("OK")
        if let id { attribute("id", id) }
    }

    /// The attributes that the request's verb does not know.
    public mutating func ignored(_ names: [String]) { attribute("ignored", joined: names) }

    /// An `OK` that says nothing but what was ignored.
    public mutating func ok(id: String?, ignored names: [String]) {
        beginOK(id: id)
        ignored(names)
        end()
    }

    /// What became of an event.
    ///
    /// - Parameters:
    ///   - rev: The key's `rev` after it; `nil` where the key does not exist.
    ///   - state: Where the machine is after it.
    ///   - isOldEnd: An `end` that was older than the newest event, and taken nevertheless.
    public mutating func ok(
        id: String?, verdict: Verdict, rev: Int64?, state: String?, isOldEnd: Bool = false, ignored names: [String]
    ) {
        beginOK(id: id)
        // Once for every event, so without a piece more than it takes.
        append(" verdict=")
        buffer.append(verdict.rawValue)
        if let rev {
            append(" rev=")
            buffer.append(decimal: rev)
        }
        if let state { attribute("state", state) }
        if isOldEnd { append(" old_end=1") }
        ignored(names)
        end()
    }

    public mutating func error(_ error: WireError, id: String? = nil) {
        append("ERR")
        if let id { attribute("id", id) }
        attribute("code", error.code.rawValue)
        attribute("retry", error.code.retry.rawValue)
        if error.code.isFatal { append(" fatal=1") }
        append(" {\"msg\":")
        JSON.string(error.message).append(to: &buffer)
        for detail in error.details where detail.name != "msg" {
            buffer.append(UInt8(ascii: ","))
            JSON.string(detail.name).append(to: &buffer)
            buffer.append(UInt8(ascii: ":"))
            detail.value.append(to: &buffer)
        }
        buffer.append(UInt8(ascii: "}"))
        end()
    }

    public mutating func pong(id: String?, ignored names: [String] = []) {
        append("PONG")
        if let id { attribute("id", id) }
        ignored(names)
        end()
    }

    /// - Parameter wait: Of a drain: the bounds, in milliseconds, of the random wait before reconnecting.
    public mutating func bye(_ code: ByeCode, wait: ClosedRange<Int>? = nil) {
        append("BYE")
        attribute("code", code.rawValue)
        if let wait {
            attribute("wait", wait.lowerBound)
            buffer.append(UInt8(ascii: "-"))
            buffer.append(decimal: Int64(wait.upperBound))
        }
        end()
    }

    /// One `#` line for each line of `text`.
    public mutating func comment(_ text: String) {
        buffer.append(UInt8(ascii: "#"))
        buffer.append(UInt8(ascii: " "))
        for byte in text.utf8 {
            if byte == 0x0A {
                end()
                buffer.append(UInt8(ascii: "#"))
                buffer.append(UInt8(ascii: " "))
            } else {
                // No control byte may stand in a line.
                buffer.append(byte < 0x20 || byte == 0x7F ? UInt8(ascii: " ") : byte)
            }
        }
        end()
    }
}
