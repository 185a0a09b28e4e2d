public import TelltaleModel
internal import TelltaleWire

/// RFC 3986's percent-encoding.
public enum PercentCoding {
    /// `nil` if a `%` is not followed by two hexadecimal digits, or if the bytes are not UTF-8.
    ///
    /// - Parameter plusIsSpace: As in a form; elsewhere a plus is a plus.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var iterator = text.utf8.makeIterator()
        while let byte = iterator.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = iterator.next().flatMap(Hexadecimal.value),
                    let low = iterator.next().flatMap(Hexadecimal.value)
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Everything but the unreserved characters is encoded.
    ///
    /// - Parameter kept: Characters that are not encoded either.
    public static func encode(_ text: String, keeping kept: String = "") -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case _ where kept.utf8.contains(byte): encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}

/// The query of a request: names and values in their order; names may repeat.
public struct Query: Hashable, Sendable {
    public var items: [Item]

    public struct Item: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// - Throws: `bad_request` if it is not percent-encoded UTF-8.
    public init(_ text: Substring?) throws(Problem) {
        items = []
        for part in (text ?? "").split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(pair[0], plusIsSpace: true),
                let value = PercentCoding.decode(pair.count > 1 ? pair[1] : "", plusIsSpace: true)
            else { throw Problem("bad_request", "the query is no percent-encoded UTF-8 at \(pair[0])") }
            items.append(Item(name: name, value: value))
        }
    }

    /// Every value of one name.
    public func all(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    /// The only value of a name; `nil` if there is none.
    ///
    /// - Throws: `bad_attr` if it occurs twice.
    public subscript(name: String) -> String? {
        get throws(Problem) {
            let values = all(name)
            guard values.count < 2 else { throw Problem("bad_attr", "\(name)= stands twice in the query; say it once") }
            return values.first
        }
    }

    /// A value that is valid on a line: 1 to 256 visible ASCII bytes.
    public func word(_ name: String) throws(Problem) -> String? {
        guard let value = try self[name] else { return nil }
        return try Self.word(value, name)
    }

    public static func word(_ value: String, _ name: String) throws(Problem) -> String {
        guard (1...WireLimits.valueLength).contains(value.utf8.count),
            value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Problem(
                "bad_attr", "\(name)= is to be 1 to \(WireLimits.valueLength) visible ASCII bytes without a space")
        }
        return value
    }

    /// A whole number, 0 to 2^53−1.
    public func number(_ name: String) throws(Problem) -> Int64? {
        guard let value = try self[name] else { return nil }
        guard let number = Self.decimal(value) else {
            throw Problem("bad_attr", "\(name)= is to be a whole number of at most 2^53−1, in decimal digits")
        }
        return number
    }

    static func decimal(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text),
            number <= JSON.integerLimit
        else { return nil }
        return number
    }

    public func view() throws(Problem) -> ViewName? {
        guard let value = try self["view"] else { return nil }
        guard let view = ViewName(value) else { throw .view(value) }
        return view
    }
}

extension Problem {
    static func view(_ value: String) -> Problem {
        let names = (["full"] + Surface.allCases.map(\.rawValue)).joined(separator: ", ")
        return Problem("bad_attr", "there is no view \"\(value)\"; there are \(names)")
    }
}
