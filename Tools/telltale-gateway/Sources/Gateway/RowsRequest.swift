internal import TelltaleModel
internal import TelltaleWire

/// A `GET /v1/rows`: one picture, or what changed after a cursor. Each question has one URL, so that caches share its
/// answer.
public struct RowsRequest: Sendable {
    public let stream: StreamRequest
    /// The position to read on from, as the caller sent it; `nil` for the picture of now.
    public let from: String?
    /// The daemon's cursors in ``from``. After an answer without a change, ``from`` has the time of that answer too.
    let position: String
    /// How long to wait for the first change, in seconds.
    public let wait: Int64

    public static let defaultWait: Int64 = 25

    /// In the order in which they stand in the URL.
    private static let names = ["sub", "account", "surface", "trait", "caps", "from", "wait"]

    /// - Throws: What ``StreamRequest`` throws; `bad_attr` for an unknown parameter, because each spelling would be
    ///   another URL to a cache.
    public init(_ query: Query) throws(Problem) {
        if let unknown = query.items.first(where: { !Self.names.contains($0.name) }) {
            throw Problem(
                "bad_attr",
                "/v1/rows has no \(unknown.name.prefix(40))=; leave it out. There are "
                    + Self.names.map { "\($0)=" }.joined(separator: ", "))
        }
        let from = try query["from"] ?? ""
        let wait = try query.number("wait") ?? Self.defaultWait
        guard wait <= Preference.longestWait else {
            throw Problem(
                "bad_attr", "wait= is to be 0 to \(Preference.longestWait) seconds; ask again after an answer")
        }
        let parts = from.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let isTimed = parts.count == 2 && Query.decimal(String(parts[1])) != nil
        position = isTimed ? String(parts[0]) : from
        stream = try StreamRequest(query, lastEventID: position)
        self.from = stream.isMalformed || stream.cursors.contains { $0 != nil } ? from : nil
        self.wait = wait
    }

    /// The path and query of this question: parameters in one order, defaults left out, nothing encoded that can stand
    /// as it is.
    public var target: String {
        let situation = stream.situation
        var items: [(name: String, value: String)] = []
        let everything = StreamRequest.Selection(pattern: .all, view: .full, placement: nil)
        if stream.selections != [everything] {
            for selection in stream.selections { items.append(("sub", text(of: selection))) }
            if items.count == 1, items[0].value == "*", situation.surface == nil { items = [] }
        }
        if let account = situation.account { items.append(("account", account)) }
        if let surface = situation.surface { items.append(("surface", surface.rawValue)) }
        for trait in situation.traits.sorted(by: { $0.name < $1.name }) {
            items.append(("trait", "\(trait.name):\(trait.value)"))
        }
        if situation.showsWidgets { items.append(("caps", "widgets")) }
        if let from {
            items.append(("from", from))
            if wait != Self.defaultWait { items.append(("wait", String(wait))) }
        }
        let query = items.map { "\($0.name)=\(PercentCoding.encode($0.value, keeping: "/*,:@"))" }
        return query.isEmpty ? "/v1/rows" : "/v1/rows?" + query.joined(separator: "&")
    }

    /// The answer where the daemon cannot be reached: the rows are old, and the cursor is good later. A refusal would
    /// keep the URL, and a cache would pass on all those that wait for its answer.
    ///
    /// - Parameter time: In seconds.
    /// - Returns: `nil` for a read without a cursor, which brings nothing to go on with.
    public func body(lost problem: Problem, at time: Int64) -> [UInt8]? {
        guard from != nil, !stream.isMalformed, problem.retry == "later" else { return nil }
        return JSONWriter.object { writer in
            writer.member("cursor", "\(position).\(time)")
            writer.member("rows", .array([]))
            writer.member("gone", .array([]))
            writer.member("lost", problem.code)
        }
    }

    private func text(of selection: StreamRequest.Selection) -> String {
        // Without a surface a subscription is whole by itself.
        let view = selection.view == .full && stream.situation.surface == nil ? nil : selection.view
        var text = selection.pattern.description
        if view != nil || selection.placement != nil { text += "," + (view?.description ?? "") }
        if let placement = selection.placement { text += "," + placement }
        return text
    }
}
