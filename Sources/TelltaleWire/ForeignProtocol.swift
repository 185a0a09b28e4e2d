/// The first words of other protocols, whose lines could be taken for ours.
///
/// A web page can make a browser send a request to any port, and the body of that request is lines. The connection
/// therefore ends at the first word, before a line that follows could be executed.
enum ForeignProtocol: String, CaseIterable {
    case http = "HTTP"
    case smtp = "SMTP"
    case haproxy = "the PROXY protocol"

    private static let words: [(name: PackedName, protocol: ForeignProtocol)] =
        [
            "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "PRI",
        ].map { (PackedName($0), .http) } + ["EHLO", "HELO"].map { (PackedName($0), .smtp) } + [
            (PackedName("PROXY"), .haproxy)
        ]
    private static let get = PackedName("GET")

    /// The protocol of a line, by its first word; for `GET`, which is ours too, the second word decides.
    static func of(_ line: Span<UInt8>, verbEnd: Int) -> ForeignProtocol? {
        // An event is by far the most frequent line, and no foreign word begins like it.
        guard 3...7 ~= verbEnd, line[0] & 0xDF != UInt8(ascii: "E") || line[1] & 0xDF != UInt8(ascii: "V"),
            let name = line.packed(0..<verbEnd, uppercase: true)
        else { return nil }
        if name == get { return isRequestTarget(line, from: verbEnd + 1) ? .http : nil }
        return words.first { $0.name == name }?.protocol
    }

    /// Whether a word is a path or a URL. A key has a kind before its slash and an id after it.
    private static func isRequestTarget(_ line: Span<UInt8>, from start: Int) -> Bool {
        var index = start
        while index < line.count, line[index] != UInt8(ascii: " ") {
            guard line[index] != UInt8(ascii: "/") else {
                return index == start || (index + 1 < line.count && line[index + 1] == UInt8(ascii: "/"))
            }
            index += 1
        }
        return false
    }
}

extension WireError {
    static func foreign(_ protocol: ForeignProtocol, _ line: Span<UInt8>, verbEnd: Int) -> WireError {
        WireError(
            .badLine,
            "the line begins with \(line.quoted(0..<verbEnd)) as in \(`protocol`.rawValue), which is not spoken here; "
                + "connect with a client of the Telltale line protocol, or send HELP")
    }
}
