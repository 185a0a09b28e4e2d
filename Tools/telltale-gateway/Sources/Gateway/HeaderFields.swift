internal import TelltaleModel

/// `Idempotency-Key`: a quoted string of structured fields (RFC 8941), or the bare text.
public enum IdempotencyKey {
    /// The `eid` that a key becomes: 1 to 256 visible ASCII bytes.
    ///
    /// - Throws: `bad_request`.
    public static func parse(_ field: String) throws(Problem) -> String {
        var text = Substring(field)
        if text.hasPrefix("\"") {
            guard let inner = QuotedText.decode(text, escaping: ["\"", "\\"]) else { throw fault }
            text = Substring(inner)
        }
        guard (1...256).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw fault
        }
        return String(text)
    }

    private static var fault: Problem {
        Problem(
            "bad_request",
            "Idempotency-Key is to be 1 to 256 visible ASCII characters without a space, in double quotes or bare")
    }
}

/// A quoted string of a header field (RFC 9110 §5.6.4).
enum QuotedText {
    /// The text inside; `nil` if it is not one quoted string.
    ///
    /// - Parameter escaping: The characters that a backslash may escape; `nil` for all, as in RFC 9110. Structured
    ///   fields (RFC 8941) allow two.
    static func decode(_ text: Substring, escaping: Set<Unicode.Scalar>? = nil) -> String? {
        guard text.hasPrefix("\"") else { return nil }
        var result = ""
        var characters = text.unicodeScalars.dropFirst().makeIterator()
        while let character = characters.next() {
            switch character {
            case "\"": return characters.next() == nil ? result : nil
            case "\\":
                guard let escaped = characters.next(), escaping?.contains(escaped) ?? true else { return nil }
                result.unicodeScalars.append(escaped)
            default: result.unicodeScalars.append(character)
            }
        }
        return nil
    }
}

/// Entity tags: `"REV"` of the whole state, `W/"REV-HASH"` of a surface's row, which changes without its `rev`, and
/// `"HASH"` of several rows.
public enum EntityTag {
    public static func strong(_ rev: Int64) -> String { "\"\(rev)\"" }

    public static func strong(body: [UInt8]) -> String { "\"\(hash(body))\"" }

    public static func weak(_ rev: Int64, body: [UInt8]) -> String { "W/\"\(rev)-\(hash(body))\"" }

    private static func hash(_ body: [UInt8]) -> String {
        // FNV-1a: the tag only distinguishes successive bodies, and protects nothing.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Hexadecimal.text(of: hash)
    }

    /// The `rev` of an `If-Match`.
    ///
    /// - Throws: `bad_request` for `*`, weak tags, lists and everything else that is not a `rev`.
    public static func rev(ifMatch field: String) throws(Problem) -> Int64 {
        let text = field.trimmingBlanks
        guard text.count > 2, text.hasPrefix("\""), text.hasSuffix("\""),
            let rev = Query.decimal(String(text.dropFirst().dropLast()))
        else {
            throw Problem(
                "bad_request", "If-Match is to be one strong tag, \"REV\", as the ETag of the row that was seen")
        }
        return rev
    }

    /// Whether an `If-None-Match` names `tag`, compared weakly (RFC 9110 §8.8.3.2).
    public static func matches(_ field: String, _ tag: String) -> Bool {
        if field.trimmingBlanks == "*" { return true }
        let opaque = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
        return field.split(separator: ",").contains { element in
            let text = String(element).trimmingBlanks
            return (text.hasPrefix("W/") ? text.dropFirst(2) : text[...]) == opaque
        }
    }
}

/// `Prefer: wait=N` (RFC 7240).
public enum Preference {
    /// The longest wait, in seconds.
    public static let longestWait: Int64 = 30

    /// Seconds to wait; `nil` without such a preference. Unknown preferences are ignored, as the RFC requires; a wait
    /// longer than ``longestWait`` is a fault.
    ///
    /// - Throws: `bad_request`.
    public static func wait(_ fields: [String]) throws(Problem) -> Int64? {
        for field in fields {
            for element in field.split(separator: ",") {
                let part = element.split(separator: ";").first ?? ""
                let pair = part.split(separator: "=", maxSplits: 1).map { String($0).trimmingBlanks }
                guard pair.first?.lowercased() == "wait" else { continue }
                var text = pair.count > 1 ? pair[1] : ""
                if text.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") {
                    text = String(text.dropFirst().dropLast())
                }
                guard let seconds = Query.decimal(text), seconds <= longestWait else {
                    throw Problem("bad_request", "Prefer: wait=N takes whole seconds, at most \(longestWait)")
                }
                return seconds
            }
        }
        return nil
    }
}

/// Lists of what a caller takes, each item with a weight (RFC 9110 §12.4.2).
public enum Acceptance {
    /// The first of `offers` with the highest weight in `Accept`; `nil` if none is accepted. Without the field
    /// everything is accepted.
    public static func choose(_ fields: [String], of offers: [String]) -> String? {
        guard !fields.isEmpty else { return offers.first }
        let items = items(of: fields)
        var best: (offer: String, weight: Double)?
        for offer in offers {
            let type = offer.prefix { $0 != "/" }
            let weight = weight(of: [offer, "\(type)/*", "*/*"], in: items) ?? 0
            if weight > best?.weight ?? 0 { best = (offer, weight) }
        }
        return best?.offer
    }

    /// Whether by `Accept-Encoding` an answer may be in gzip. A request without the field accepts anything, but still
    /// gets plain bytes.
    public static func takesGzip(_ fields: [String]) -> Bool {
        weight(of: ["gzip", "*"], in: items(of: fields)) ?? 0 > 0
    }

    /// The weight of the first of `names`, most specific first, that is in the list.
    private static func weight(of names: [String], in items: [(name: String, weight: Double)]) -> Double? {
        for name in names {
            if let item = items.last(where: { $0.name == name }) { return item.weight }
        }
        return nil
    }

    /// The items of all fields in lower case, with their weights from 0 to 1. A weight that is not a number counts as
    /// 1.
    private static func items(of fields: [String]) -> [(name: String, weight: Double)] {
        fields.joined(separator: ",").lowercased().split(separator: ",").map { item in
            let parts = item.split(separator: ";", omittingEmptySubsequences: false).map { String($0).trimmingBlanks }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return (parts[0], weight.isFinite ? min(max(weight, 0), 1) : 0)
        }
    }
}

/// A media type without its parameters, in lower case.
public func mediaType(_ field: String?) -> String? {
    field.map { String($0.split(separator: ";", maxSplits: 1).first ?? "").trimmingBlanks.lowercased() }
}

extension String {
    var trimmingBlanks: String {
        var text = self[...]
        while let first = text.first, first == " " || first == "\t" { text = text.dropFirst() }
        while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
        return String(text)
    }
}
