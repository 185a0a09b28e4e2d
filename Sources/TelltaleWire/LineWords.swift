import TelltaleModel

/// A request line split into its parts, which are ranges of it: a part is copied only when it is read.
struct LineWords {
    let verb: VerbDescription
    /// The word without a `=`, if the verb takes one.
    private(set) var positional: Range<Int>?
    /// The offset of the JSON tail.
    private(set) var tail: Int?
    /// Attributes that the verb does not know, at most as many as a reply's `ignored=` can hold.
    var ignored: [String] { ignoredNames.names }
    private var ignoredNames = IgnoredNames()
    /// The pairs of a `TRAIT`.
    private(set) var traits: [Attribute] = []
    /// The first fault. The words after it are still scanned, to find `id=`.
    private(set) var fault: WireError?

    /// The range of each attribute's value, by ``AttributeName/slot``; empty if the attribute is absent, because no
    /// value is empty.
    private var values = InlineArray<42, Range<UInt32>>(repeating: 0..<0)
    private let addressOnly = AddressOnly()

    subscript(name: AttributeName) -> Range<Int>? {
        let range = values[name.slot]
        return range.isEmpty ? nil : Int(range.lowerBound)..<Int(range.upperBound)
    }

    /// Splits the line after its verb.
    init(_ line: Span<UInt8>, behind verbEnd: Int, of verb: VerbDescription) {
        self.verb = verb
        cut(line.extracting(0..<line.endWithoutBlanks), behind: verbEnd)
    }

    private mutating func cut(_ line: Span<UInt8>, behind verbEnd: Int) {
        var start = verbEnd + 1
        while start <= line.count, verbEnd < line.count {
            if start < line.count, line[start] == UInt8(ascii: "{") {
                tail = start
                return
            }
            let end = line.wordEnd(from: start)
            do throws(WireError) {
                try readWord(start..<end, of: line)
            } catch {
                if fault == nil { fault = error }
            }
            start = end + 1
        }
    }

    private mutating func readWord(_ word: Range<Int>, of line: Span<UInt8>) throws(WireError) {
        guard !word.isEmpty else {
            throw .attribute(
                verb, "an empty word at byte \(word.lowerBound + 1): one space between words")
        }
        guard let equals = line.attributeNameEnd(word) else {
            // Searched in the word alone: a search of the rest of the line for each word would be quadratic.
            guard line.extracting(word).firstIndex(of: UInt8(ascii: "="), from: 0) < word.count else {
                return try takePositional(word, of: line)
            }
            throw .attribute(
                verb, "\(line.quoted(word)) has no name before its \"=\"; names are [a-z][a-z0-9_]*, up to 16 bytes")
        }
        let name = word.lowerBound..<equals
        let value = equals + 1..<word.upperBound
        guard (1...WireLimits.valueLength).contains(value.count), line.allSatisfy(value, \.isVisibleASCII) else {
            throw .attribute(
                verb, "the value of \(line.text(name))= is to be 1 to \(WireLimits.valueLength) visible ASCII bytes")
        }
        try takeAttribute(name, value, of: line)
    }

    private mutating func takeAttribute(
        _ name: Range<Int>, _ value: Range<Int>, of line: Span<UInt8>
    ) throws(WireError) {
        if let known = verb.attribute(line.packed(name)) {
            guard values[known.slot].isEmpty else {
                throw .attribute(verb, "\(known.rawValue)= stands twice; say it once")
            }
            if known == .id, value.count > WireLimits.idLength {
                throw .attribute(verb, "the value of id= is to be at most \(WireLimits.idLength) bytes")
            }
            // A line is limited to far less than 4 GiB.
            values[known.slot] = UInt32(clamping: value.lowerBound)..<UInt32(clamping: value.upperBound)
        } else if verb.verb == .trait, let trait = TraitName(rawValue: line.text(name)) {
            guard !traits.contains(where: { $0.name == trait.rawValue }) else {
                throw .attribute(verb, "\(trait.rawValue)= stands twice; say it once")
            }
            let text = line.text(value)
            guard trait.takes(text) else { throw .value(verb, trait.rawValue, line.quoted(value), trait.values) }
            traits.append(Attribute(name: trait.rawValue, value: text))
        } else {
            ignoredNames.append(line.text(name))
        }
    }

    private mutating func takePositional(_ word: Range<Int>, of line: Span<UInt8>) throws(WireError) {
        guard verb.positional != nil, positional == nil else {
            throw .attribute(
                verb, "the word \(line.quoted(word)) is not expected; write \(verb.usage)")
        }
        positional = word
    }
}

extension VerbDescription {
    /// The attribute of that name, if this verb knows it.
    fileprivate func attribute(_ name: PackedName?) -> AttributeName? {
        guard let name else { return nil }
        if name == AttributeName.packedID { return .id }
        for attribute in attributes where attribute.packed == name { return attribute.name }
        return nil
    }
}

extension WireError {
    static func attribute(_ verb: VerbDescription, _ message: String) -> WireError {
        WireError(.badAttribute, "\(verb.verb.rawValue): \(message)")
    }

    /// An error for a value that its attribute does not accept.
    static func value(_ verb: VerbDescription, _ name: String, _ given: String, _ expected: String) -> WireError {
        attribute(verb, "\(name)=\(given) is not taken; write \(name)=\(expected)")
    }
}
