/// The subscription of a device, with `id=s`: one row a key, and the cursor that it resumes from.
///
/// The rows of a snapshot are shown when the snapshot is whole.
struct FollowedRows {
    private enum Phase {
        case away, subscribing, filling, resuming, live
    }

    private var phase = Phase.away
    private(set) var table: [String: ShownRow] = [:]
    private var snapshot: [String: ShownRow] = [:]
    private var cursor: String?
    private var revs: [String: Int64] = [:]

    var isLive: Bool { phase == .live }

    /// A connection begins.
    ///
    /// - Parameter isAnew: It does not resume.
    /// - Returns: The word of its `SUB`, with a blank before it.
    mutating func begin(isAnew: Bool) -> String {
        phase = .subscribing
        // A snapshot that was broken off is none.
        snapshot = [:]
        if isAnew { cursor = nil }
        return cursor.map { " from=\($0)" } ?? ""
    }

    mutating func end() { phase = .away }

    /// Takes the cursor of a line, and what the line says of the subscription as a whole.
    mutating func followLine(_ line: ClientLine) {
        switch line.verb {
        case "OK" where line["id"] == "s": phase = cursor == nil ? .filling : .resuming
        case "RESET": phase = .filling
        case "LIVE":
            if phase == .filling { table = snapshot }
            snapshot = [:]
            phase = .live
        case _: break
        }
        if let known = line["cur"] { cursor = known }
    }

    /// Notes the rev of a row or a deletion.
    ///
    /// - Returns: Its fault, if it is older than what was reported of the key before.
    mutating func fault(ofRev rev: Int64, key: String) -> String? {
        let known = revs.updateValue(rev, forKey: key) ?? 0
        return rev < known ? "sees \(key) go back from \(known) to \(rev)" : nil
    }

    /// The fault of a row that says what the device holds: two consecutive rows of a widget differ in their bytes or in `rev`.
    func repetition(in line: ClientLine, rev: Int64, key: String) -> String? {
        guard phase == .live, line.verb == "UPD", let row = table[key] else { return nil }
        return row.rev == rev && row.text == line.text ? "is sent \(key) at \(rev) again as it was" : nil
    }

    /// - Parameter row: `nil` = it was deleted.
    mutating func set(_ row: ShownRow?, of key: String) {
        if phase == .filling, let row { snapshot[key] = row } else { table[key] = row }
    }
}
