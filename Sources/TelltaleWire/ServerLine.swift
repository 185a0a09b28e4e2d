public import TelltaleModel

/// One line from a server, as a client parses it.
///
/// The parser validates no verbs or attributes, because a client ignores those that it does not know
/// (Protocols/Line/line-protocol.md §3).
public struct ServerLine: Hashable, Sendable {
    /// `OK`, `UPD`, …; `#` for a line of help, whose text is then the only word.
    public var verb: String
    /// Words without a `=`, in their order.
    public var words: [String]
    /// In their order on the line.
    public var attributes: [Attribute]
    /// The JSON object at the end of the line.
    public var tail: JSONObject?

    public init(verb: String, words: [String] = [], attributes: [Attribute] = [], tail: JSONObject? = nil) {
        self.verb = verb
        self.words = words
        self.attributes = attributes
        self.tail = tail
    }

    /// The value of the first attribute of that name.
    public subscript(name: String) -> String? { attributes.first { $0.name == name }?.value }

    /// The value of an attribute that is a whole number.
    public func integer(_ name: String) -> Int64? {
        guard let value = self[name] else { return nil }
        return value.utf8.span.decimal(0..<value.utf8.count)
    }

    /// The position to resume from, in `LIVE`, `MARK`, `UPD` and `DEL`.
    public var cursor: Cursor? { self["cur"].flatMap { Cursor($0) } }

    /// The code of an `ERR`; `nil` for a code that is unknown to this client.
    public var errorCode: ErrorCode? { self["code"].flatMap { ErrorCode(rawValue: $0) } }

    /// The message of an `ERR` for people.
    public var message: String? { tail?["msg"]?.string }

    /// Where a greeting, an `ERR code=not_leader` or a `BYE` sends the client; `nil` for a line that lets it stay, or that
    /// does not say where it could go instead.
    public var redirection: Redirection? {
        switch verb {
        case "TELLTALE":
            let serves = self["role"] ?? "leader" == "leader" || self["serves"] == "1"
            return serves ? nil : Redirection(address: self["leader"])
        case "ERR": return errorCode == .notLeader ? Redirection(address: tail?["leader"]?.string) : nil
        case "BYE":
            let address = self["to"] ?? self["leader"]
            let code = self["code"].flatMap { ByeCode(rawValue: $0) }
            return address != nil || code == .notLeader || code == .behind ? Redirection(address: address) : nil
        case _: return nil
        }
    }

    /// Parses one line, as ``LineDecoder`` delivers it.
    ///
    /// - Throws: `bad_line` without a verb, `bad_json` if the tail is no JSON object.
    public init(_ line: Span<UInt8>, parser: JSONParser) throws(WireError) {
        if !line.isEmpty, line[0] == UInt8(ascii: "#") {
            let hasSpace = line.count > 1 && line[1] == UInt8(ascii: " ")
            self.init(verb: "#", words: [line.text((hasSpace ? 2 : 1)..<line.count)])
            return
        }
        guard let verbEnd = line.verbEnd() else { throw .noVerb(line) }
        self.init(verb: line.text(0..<verbEnd))
        var start = verbEnd + 1
        while start < line.count {
            if line[start] == UInt8(ascii: "{") {
                tail = try parser.object(in: line, from: start)
                return
            }
            let end = line.wordEnd(from: start)
            if let equals = line.attributeNameEnd(start..<end) {
                attributes.append(
                    Attribute(name: line.text(start..<equals), value: line.text(equals + 1..<end)))
            } else if start < end {
                words.append(line.text(start..<end))
            }
            start = end + 1
        }
    }
}

/// A server's notice that the client should connect to another node of the cluster.
public struct Redirection: Hashable, Sendable {
    /// The address as the server named it; `nil` for the next server that the client knows.
    public var address: String?

    public init(address: String?) {
        self.address = address
    }
}

extension Span<UInt8> {
    func wordEnd(from start: Int) -> Int {
        firstIndex(of: UInt8(ascii: " "), from: start)
    }

    /// The offset of the `=` of `name=value`; `nil` if the word is not an attribute by the grammar of names.
    func attributeNameEnd(_ word: Range<Int>) -> Int? {
        guard !word.isEmpty, self[word.lowerBound].isLowercaseLetter else { return nil }
        var index = word.lowerBound + 1
        while index < word.upperBound, index - word.lowerBound <= WireLimits.attributeNameLength {
            let byte = self[index]
            if byte == UInt8(ascii: "=") { return index }
            guard byte.isLowercaseLetter || byte.isDigit || byte == UInt8(ascii: "_") else { return nil }
            index += 1
        }
        return nil
    }
}

extension JSONParser {
    /// The object from `start` to the end of the line.
    func object(
        in line: Span<UInt8>, from start: Int, nameLimit: Int = .max
    ) throws(WireError) -> JSONObject {
        let json: JSON
        do throws(JSONError) {
            json = try parse(line.extracting(start..<line.count), nameLimit: nameLimit)
        } catch {
            let code: ErrorCode = if case .tooManyNames = error { .tooLarge } else { .badJSON }
            throw WireError(code, "the JSON tail, from byte \(start + 1) of the line: \(error)")
        }
        guard case .object(let object) = json else {
            throw WireError(.badJSON, "the JSON tail, from byte \(start + 1) of the line, is no object; send {…}")
        }
        return object
    }
}
