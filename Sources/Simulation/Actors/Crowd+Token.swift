// A daemon with principals: one token speaks for the whole crowd.
extension Crowd {
    /// The lines of a client, with the token in its `HELLO`, and its own name as the `src=` of its events: without that
    /// the source of all events would be the one principal.
    ///
    /// - Parameter name: The client's name, which its `HELLO` says; kept for the next lines.
    static func introducing(_ text: String, token: String?, name: inout String?) -> String {
        guard let token else { return text }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            if line.hasPrefix("HELLO") {
                name = line.split(separator: " ").first { $0.hasPrefix("client=") }.map { String($0.dropFirst(7)) }
                return line + " token=\(token)"
            }
            let words = line.split(separator: " ", maxSplits: 2)
            guard let name, words.count == 3, words[0] == "EVT", !line.contains(" src=") else { return String(line) }
            return "EVT \(words[1]) src=\(name) \(words[2])"
        }
        return lines.joined(separator: "\n")
    }
}
