internal import TelltaleModel

/// The answer to `HELP`: lines for a person at a terminal, each sent as a `#` line.
public enum Help {
    /// - Parameter verb: In any case; `nil` for the list of all verbs.
    /// - Returns: `nil` for an unknown verb.
    public static func lines(verb: String?) -> [String]? {
        guard let verb else { return overview }
        let upper = verb.utf8.map { $0 &- UInt8(ascii: "a") < 26 ? $0 & 0xDF : $0 }
        guard let description = VerbDescription.all.first(where: { $0.verb.rawValue.utf8.elementsEqual(upper) }) else {
            return nil
        }
        return lines(description)
    }

    private static let overview: [String] = {
        let width = VerbDescription.all.map { $0.verb.rawValue.utf8.count }.max() ?? 0
        return [
            "Telltale line protocol \(LineWriter.protocolVersion). A line is VERB, words, and for some a JSON object:"
        ]
            + VerbDescription.all.map { "  \($0.verb.rawValue.padded(to: width))  \($0.summary)" }
            + [
                "Verbs are in any case. id=… on a request comes back on its reply.",
                "HELP VERB explains one. Try: SUB *",
            ]
    }()

    private static func lines(_ description: VerbDescription) -> [String] {
        let width = description.attributes.map { $0.text.utf8.count + $0.placeholder.utf8.count + 1 }.max() ?? 0
        return ["\(description.verb.rawValue) \(description.summary).", "  \(description.usage)"]
            + description.attributes.map { attribute in
                "    \("\(attribute.text)=\(attribute.placeholder)".padded(to: width))  \(attribute.summary)"
            }
            + description.details.map { "  \($0)" }
            + ["  Example: \(description.example)"]
    }
}
