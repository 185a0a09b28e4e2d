public import TelltaleModel

/// The first line from a server (Protocols/Line/line-protocol.md §3).
public struct Greeting: Hashable, Sendable {
    /// The identity of the server's history.
    public var epoch: UInt64
    /// The newest durable commit.
    public var sequence: Int64
    /// The server's clock.
    public var now: Timestamp
    /// The speed of the server's clock relative to real time; written unless it is 1.
    public var speed = 1.0
    /// The silence after which the server sends a `MARK`, in milliseconds.
    public var heartbeat: Int
    public var lineLengthLimit = WireLimits.lineLength
    public var authentication = "none"
    /// The version of the server.
    public var server: String
    /// The server's role in its cluster; `nil` without one.
    public var node: NodeStatus?

    public init(epoch: UInt64, sequence: Int64, now: Timestamp, heartbeat: Int, server: String) {
        self.epoch = epoch
        self.sequence = sequence
        self.now = now
        self.heartbeat = heartbeat
        self.server = server
    }
}

/// A server's role in a cluster, from its greeting.
public struct NodeStatus: Hashable, Sendable {
    public enum Role: Hashable, Sendable {
        /// Decides.
        ///
        /// - Parameter term: The number of the leadership, which increases with each new leader.
        case leader(term: Int64)
        /// Follows the leader.
        ///
        /// - Parameters:
        ///   - leader: The address of the leader, without `tls://`; `nil` while no node is known to lead.
        ///   - serves: Whether this node answers reads and forwards writes, so that clients can stay.
        case standby(leader: String?, serves: Bool = false)
    }

    /// The name of the node within its cluster.
    public var name: String
    public var role: Role
    /// The address of another node to which this one, which drains, sends its clients; `nil` = a client may stay.
    public var next: String?

    public init(name: String, role: Role) {
        self.name = name
        self.role = role
    }
}

/// The reason that a server gives before it closes a connection.
public enum ByeCode: String, CaseIterable, Hashable, Sendable {
    /// The server is shutting down or restarting. The client reconnects after a random wait.
    case drain = "shutting_down"
    /// The token of this connection has expired.
    case expired = "auth_expired"
    /// The token of this connection was revoked, or its principal lost a right.
    case revoked = "auth_revoked"
    /// The client asked for heartbeats, and sent nothing for two of them.
    case silent
    /// The server does not lead its cluster any more. The client goes to the leader, or to its next address.
    case notLeader = "not_leader"
    /// A node of a cluster has yet to read what this client has seen elsewhere, or its rows have been old for long.
    case behind
}

extension LineWriter {
    /// The version of the protocol. It changes only with an incompatible change.
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
        if let node = greeting.node { status(node) }
        end()
    }

    private mutating func status(_ node: NodeStatus) {
        attribute("node", node.name)
        switch node.role {
        case .leader(let term):
            attribute("role", "leader")
            attribute("term", term)
        case .standby(let leader, let serves):
            attribute("role", "standby")
            if let leader { attribute("leader", leader) }
            if serves { attribute("serves", 1) }
        }
        if let next = node.next { attribute("to", next) }
    }

    /// Begins an `OK`; attributes, ``ignored(_:)``, a tail and ``end()`` follow.
    public mutating func beginOK(id: String?) {
        append("OK")
        if let id { attribute("id", id) }
    }

    /// Writes the attributes that the request's verb does not know.
    public mutating func ignored(_ names: [String]) { attribute("ignored", joined: names) }

    /// Writes an `OK` without a result.
    public mutating func ok(id: String?, ignored names: [String]) {
        beginOK(id: id)
        ignored(names)
        end()
    }

    /// Writes the result of an event.
    ///
    /// - Parameters:
    ///   - rev: The key's `rev` after the event; `nil` if the key does not exist.
    ///   - state: The machine's state path after the event.
    ///   - isOldEnd: Whether an `end` older than the newest event was applied all the same.
    ///   - hint: For people: the probable mistake of the sender.
    public mutating func ok(
        id: String?, verdict: Verdict, rev: Int64?, state: String?, isOldEnd: Bool = false, ignored names: [String],
        hint: String? = nil
    ) {
        beginOK(id: id)
        // Written for every event, so it avoids the general attribute path.
        append(" verdict=")
        buffer.append(verdict.rawValue)
        if let rev {
            append(" rev=")
            buffer.append(decimal: rev)
        }
        if let state { attribute("state", state) }
        if isOldEnd { append(" old_end=1") }
        ignored(names)
        if let hint {
            var object = JSONObject()
            object["msg"] = .string(hint)
            tail(object)
        }
        end()
    }

    public mutating func error(_ error: WireError, id: String? = nil) {
        append("ERR")
        if let id { attribute("id", id) }
        attribute("code", error.code.rawValue)
        attribute("retry", error.code.retry.rawValue)
        if error.isFatal { append(" fatal=1") }
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

    /// - Parameters:
    ///   - wait: The bounds of the random wait before reconnecting, in milliseconds; for a drain.
    ///   - leader: The address of the server that leads; if the code is ``ByeCode/notLeader`` and the leader is known.
    ///   - next: The address of a server that is current; if the code is ``ByeCode/behind`` or ``ByeCode/drain`` and one is known.
    public mutating func bye(
        _ code: ByeCode, wait: ClosedRange<Int>? = nil, leader: String? = nil, next: String? = nil
    ) {
        append("BYE")
        attribute("code", code.rawValue)
        if let wait {
            attribute("wait", wait.lowerBound)
            buffer.append(UInt8(ascii: "-"))
            buffer.append(decimal: Int64(wait.upperBound))
        }
        if let leader { attribute("leader", leader) }
        if let next { attribute("to", next) }
        end()
    }

    /// Writes one `#` line for each line of `text`.
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
