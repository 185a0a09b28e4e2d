internal import TelltaleModel
internal import TelltaleWire

/// The grammar of requests (Protocols/Line/line-protocol.abnf). Every value of an app is checked before it enters a
/// line.
enum Words {
    static func key(_ text: String) throws(TelltaleError) -> Key {
        guard let key = Key(text) else {
            throw fault("the key", text, "a key is kind/id, each 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
        }
        return key
    }

    static func pattern(_ text: String) throws(TelltaleError) -> Pattern {
        guard let pattern = Pattern(text) else {
            throw fault(
                "the pattern", text, "a pattern is *, kind/* or kind/id, each 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
        }
        return pattern
    }

    static func kind(_ text: String) throws(TelltaleError) -> String {
        guard Key.isSegment(text.utf8) else {
            throw fault("the kind", text, "a kind is 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
        }
        return text
    }

    static func eventType(_ text: String) throws(TelltaleError) -> String {
        guard text.isName(with: "_.:-") else {
            throw fault("the event type", text, "an event type is 1 to 64 of A-Z a-z 0-9 _ . : -")
        }
        return text
    }

    static func cursor(_ text: String) throws(TelltaleError) -> Cursor {
        guard let cursor = Cursor(text) else {
            throw fault("the cursor", text, "a cursor is given by a server, as EPOCH:SEQ:SELECTION")
        }
        return cursor
    }

    /// The value of an attribute.
    static func value(_ what: String, _ text: String) throws(TelltaleError) -> String {
        guard (1...256).contains(text.utf8.count), text.utf8.allSatisfy(isVisible) else {
            throw fault(what, text, "a value is 1 to 256 visible ASCII characters, without a blank")
        }
        return text
    }

    static func optional(_ what: String, _ text: String?) throws(TelltaleError) -> String? {
        guard let text else { return nil }
        return try value(what, text)
    }

    /// The words of a list, which is comma-separated on the line.
    static func list(_ what: String, _ texts: [String]) throws(TelltaleError) -> [String] {
        for text in texts {
            _ = try value(what, text)
            guard !text.utf8.contains(UInt8(ascii: ",")) else {
                throw fault(what, text, "a name in this list has no comma")
            }
        }
        if !texts.isEmpty { _ = try value(what, texts.joined(separator: ",")) }
        return texts
    }

    static func trait(_ name: String, _ value: String) throws(TelltaleError) -> Attribute {
        let isName =
            (1...16).contains(name.utf8.count) && name.utf8.first.map(isLowercase) == true
            && name.utf8.allSatisfy { isLowercase($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
        guard isName else {
            throw fault("the name", name, "a name is a lower-case letter, then up to 15 of a-z 0-9 _")
        }
        return Attribute(name: name, value: try self.value("the trait \(name)", value))
    }

    static func number(_ what: String, _ value: Int64, _ range: ClosedRange<Int64> = 0...JSON.integerLimit)
        throws(TelltaleError)
        -> Int64
    {
        guard range.contains(value) else {
            throw fault(what, String(value), "a whole number from \(range.lowerBound) to \(range.upperBound) is wanted")
        }
        return value
    }

    /// Checks a token. The error does not contain it.
    static func token(_ text: String) throws(TelltaleError) -> String {
        guard (1...4096).contains(text.utf8.count), text.utf8.allSatisfy(isVisible) else {
            throw .invalidRequest(
                "the token is not sent: a token is 1 to 4,096 visible ASCII characters, without a blank")
        }
        return text
    }

    /// A JSON tail.
    static func tail(_ object: JSONObject) throws(TelltaleError) -> JSONObject {
        try check(.object(object), path: "", depth: 1)
        return object
    }

    private static func check(_ json: JSON, path: String, depth: Int) throws(TelltaleError) {
        let place = path.isEmpty ? "the JSON tail" : "the member \(shown(path))"
        switch json {
        case .null, .bool, .string: return
        case .integer(let integer):
            guard integer.magnitude <= JSON.integerLimit.magnitude else {
                throw .invalidRequest("\(place) is not sent: a whole number is within ±\(JSON.integerLimit)")
            }
        case .number(let number):
            guard number.isFinite else { throw .invalidRequest("\(place) is not sent: JSON has no \(number)") }
        case .array, .object:
            guard depth <= JSON.depthLimit else {
                throw .invalidRequest(
                    "\(place) is not sent: objects and arrays are nested \(JSON.depthLimit) deep at most")
            }
            if let elements = json.array {
                for (index, element) in elements.enumerated() {
                    try check(element, path: "\(path)[\(index)]", depth: depth + 1)
                }
            } else if let object = json.object {
                for member in object {
                    try check(
                        member.value, path: path.isEmpty ? member.name : "\(path).\(member.name)", depth: depth + 1)
                }
            }
        }
    }

    private static func fault(_ what: String, _ text: String, _ wanted: String) -> TelltaleError {
        .invalidRequest("\(what) \(shown(text)) is not sent: \(wanted)")
    }

    /// An app's value for an error text: quoted, without control characters, and short.
    private static func shown(_ text: String) -> String {
        let short = text.count > 60 ? String(text.prefix(57)) + "..." : text
        return "\"\(short.harmless)\""
    }

    private static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }
    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isLowercase(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }
}
