internal import TelltaleModel

/// A right: the verbs that it allows, and the keys on which it allows them (Protocols/Line/access.table).
///
/// `post:coffee-order/*`, `read:*`, `act:porch-light/front`, `serve:porch-light`, `stats`, `admin`.
public enum Scope: Hashable, Sendable, CustomStringConvertible {
    case post(KeyRange)
    case read(KeyRange)
    case act(KeyRange)
    /// A kind of controls; `nil` = every kind.
    case serve(String?)
    case stats
    case admin

    /// Parses the text of a scope; `nil` for anything else.
    public init?(_ text: String) {
        switch text {
        case "stats": self = .stats
        case "admin": self = .admin
        case _:
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let range = String(text[text.utf8.index(after: colon)...])
            switch text[..<colon] {
            case "serve" where range == "*": self = .serve(nil)
            case "serve" where Key.isSegment(range.utf8): self = .serve(range)
            case "read":
                guard let keys = KeyRange(range), !keys.isPrefix else { return nil }
                self = .read(keys)
            case "post":
                guard let keys = KeyRange(range) else { return nil }
                self = .post(keys)
            case "act":
                guard let keys = KeyRange(range) else { return nil }
                self = .act(keys)
            case _: return nil
            }
        }
    }

    public var description: String {
        switch self {
        case .post(let keys): "post:\(keys)"
        case .read(let keys): "read:\(keys)"
        case .act(let keys): "act:\(keys)"
        case .serve(let kind): "serve:\(kind ?? "*")"
        case .stats: "stats"
        case .admin: "admin"
        }
    }

    /// Whether its holder acts for an account or sees the data of one.
    public var concernsAccounts: Bool {
        switch self {
        case .read, .act: true
        case .post, .serve, .stats, .admin: false
        }
    }

    /// The right that both allow; `nil` = none.
    ///
    /// Two key ranges never overlap in part: one includes the other, or they are disjoint.
    public func intersection(_ other: Scope) -> Scope? {
        if covers(other) { return other }
        return other.covers(self) ? self : nil
    }

    /// Whether this right includes all of `other`.
    func covers(_ other: Scope) -> Bool {
        switch (self, other) {
        case (.admin, _): true
        case (.post(let own), .post(let wanted)), (.read(let own), .read(let wanted)),
            (.act(let own), .act(let wanted)):
            own.covers(wanted)
        case (.serve(let own), .serve(let wanted)): own == nil || own == wanted
        case (.stats, .stats): true
        case _: false
        }
    }
}

/// A set of keys: `*`, `kind/*`, `kind/prefix*` or `kind/id`.
public enum KeyRange: Hashable, Sendable, CustomStringConvertible {
    case all
    case kind(String)
    case prefix(kind: String, String)
    case key(kind: String, id: String)

    /// Parses the text of a range; `nil` for anything else.
    public init?(_ text: String) {
        guard text != "*" else {
            self = .all
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, Key.isSegment(parts[0].utf8) else { return nil }
        let (kind, id) = (String(parts[0]), parts[1])
        if id == "*" {
            self = .kind(kind)
        } else if id.utf8.last == UInt8(ascii: "*") {
            let prefix = String(id.utf8.dropLast()) ?? ""
            guard Key.isSegment(prefix.utf8) else { return nil }
            self = .prefix(kind: kind, prefix)
        } else {
            guard Key.isSegment(id.utf8) else { return nil }
            self = .key(kind: kind, id: String(id))
        }
    }

    init(_ key: Key) {
        self = .key(kind: String(key.kind), id: String(key.id))
    }

    init(_ pattern: Pattern) {
        switch pattern {
        case .all: self = .all
        case .kind(let kind): self = .kind(kind)
        case .key(let key): self = KeyRange(key)
        }
    }

    /// The kind of all its keys; `nil` = any kind.
    var kind: String? {
        switch self {
        case .all: nil
        case .kind(let kind), .prefix(let kind, _), .key(let kind, _): kind
        }
    }

    var isPrefix: Bool { if case .prefix = self { true } else { false } }

    public var description: String {
        switch self {
        case .all: "*"
        case .kind(let kind): "\(kind)/*"
        case .prefix(let kind, let prefix): "\(kind)/\(prefix)*"
        case .key(let kind, let id): "\(kind)/\(id)"
        }
    }

    /// Whether every key of `other` is in this range.
    func covers(_ other: KeyRange) -> Bool {
        switch (self, other) {
        case (.all, _): true
        case (.kind(let own), .kind(let kind)), (.kind(let own), .prefix(let kind, _)),
            (.kind(let own), .key(let kind, _)):
            own == kind
        case (.prefix(let own, let prefix), .prefix(let kind, let wanted)),
            (.prefix(let own, let prefix), .key(let kind, let wanted)):
            own == kind && wanted.utf8.starts(with: prefix.utf8)
        case (.key, .key): self == other
        case _: false
        }
    }
}
