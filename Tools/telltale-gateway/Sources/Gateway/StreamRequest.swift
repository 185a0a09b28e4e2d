public import TelltaleModel
public import TelltaleWire

/// The subscriptions of `GET /v1/stream`.
public struct StreamRequest: Sendable {
    public struct Selection: Hashable, Sendable {
        public var pattern: Pattern
        public var view: ViewName?
        public var placement: String?
    }

    /// 1 to 16, numbered from 1 in this order.
    public var selections: [Selection]
    /// Rows a second for each key, in all subscriptions.
    public var rate: Int?
    public var situation: Situation
    /// The cursor to resume each from; `nil` for one without a cursor yet.
    public var cursors: [Cursor?]
    /// Whether the requested position is unreadable: everything is sent again, after a `reset` with this reason.
    public var isMalformed = false
    /// The value of the answer's `Last-Event-ID`.
    public var resumedFrom: String

    static let selectionLimit = 16
    static let placements: Set<String> = [
        "controlCenterSmall", "controlCenterMedium", "controlCenterLarge", "lockScreen", "actionButton",
        "actionButtonHold", "menuBar", "smartStack", "gallery",
    ]

    /// - Parameter lastEventID: The header, which takes precedence over `lastEventID=` in the query.
    /// - Throws: `bad_pattern`, `bad_attr`, `limit_subs`.
    public init(_ query: Query, lastEventID: String?) throws(Problem) {
        var selections: [Selection] = []
        for text in query.all("sub") { selections.append(try Self.selection(text)) }
        if selections.isEmpty { selections = [Selection(pattern: .all, view: nil, placement: nil)] }
        guard selections.count <= Self.selectionLimit else {
            throw Problem("limit_subs", "a stream follows at most \(Self.selectionLimit) patterns; open a second one")
        }
        situation = try Situation(query)
        // Without `sub=`: the whole state of everything, whatever the surface.
        if query.all("sub").isEmpty { selections[0].view = .full }
        self.selections = selections
        if let rate = try query.number("rate") {
            guard (1...1_000_000).contains(rate) else {
                throw Problem("bad_attr", "rate= is to be 1 to 1000000 rows a second for each key")
            }
            self.rate = Int(rate)
        }
        let wanted = if let lastEventID { lastEventID } else { try query["lastEventID"] }
        cursors = Array(repeating: nil, count: selections.count)
        resumedFrom = "earliest"
        guard let wanted, !wanted.isEmpty else { return }
        if let parsed = Self.cursors(wanted, count: selections.count) {
            cursors = parsed
            if parsed.contains(where: { $0 != nil }) { resumedFrom = wanted }
        } else {
            isMalformed = true
        }
    }

    private static func selection(_ text: String) throws(Problem) -> Selection {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard let pattern = Pattern(parts[0]) else {
            throw Problem("bad_pattern", "\"\(parts[0].prefix(140))\" is no pattern: kind/id, kind/* or *")
        }
        guard parts.count <= 3 else { throw Problem("bad_attr", "sub= is PATTERN[,VIEW[,PLACEMENT]]") }
        var selection = Selection(pattern: pattern, view: nil, placement: nil)
        if parts.count > 1, !parts[1].isEmpty {
            guard let view = ViewName(parts[1]) else { throw .view(String(parts[1].prefix(40))) }
            selection.view = view
        }
        if parts.count > 2, !parts[2].isEmpty {
            guard placements.contains(String(parts[2])) else {
                throw Problem(
                    "bad_attr",
                    "there is no placement \"\(parts[2].prefix(40))\"; there are \(placements.sorted().joined(separator: ", "))"
                )
            }
            selection.placement = String(parts[2])
        }
        return selection
    }

    /// The cursors of an event's `id`; `nil` if it is not one, or has another number of subscriptions.
    static func cursors(_ text: String, count: Int) -> [Cursor?]? {
        let parts = text.split(separator: "~", omittingEmptySubsequences: false)
        guard parts.count == count else { return nil }
        var cursors: [Cursor?] = []
        for part in parts {
            if part == "-" {
                cursors.append(nil)
            } else if let cursor = Cursor(part) {
                cursors.append(cursor)
            } else {
                return nil
            }
        }
        return cursors
    }

    /// The `SUB` of one selection.
    public func command(_ index: Int, from cursor: Cursor?) -> SubscribeCommand {
        var command = SubscribeCommand(pattern: selections[index].pattern)
        command.view = selections[index].view
        command.placement = selections[index].placement
        command.rate = rate
        command.from = cursor
        return command
    }
}
