internal import TelltaleModel
internal import TelltaleWire

/// The words that may stand at the cursor of a line of the protocol: verbs, kinds, keys, attributes and their values.
public struct LineCompletion: Sendable {
    /// The names of the kinds that the daemon has.
    public var kinds: [String] = []
    /// The known keys.
    public var keys: Set<String> = []

    public init() {}

    /// The completions of the text from ``start`` to the cursor.
    public struct Answer: Hashable, Sendable {
        /// In characters from the beginning of the line.
        public var start: Int
        /// Sorted, without duplicates.
        public var words: [String]

        /// The longest beginning that all words share.
        public var common: String {
            guard var shared = words.first else { return "" }
            for word in words.dropFirst() { shared = shared.commonPrefix(with: word) }
            return shared
        }

        /// The text that completes the word, with a blank after it if the word is finished.
        public var insertion: String {
            guard words.count == 1, let last = common.last, last != "=", last != "/" else { return common }
            return common + " "
        }
    }

    /// - Parameter text: The line up to the cursor.
    public func answer(to text: String) -> Answer {
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
        let word = words.last ?? ""
        let start = text.count - word.count
        let before = words.dropLast()
        // Inside a JSON tail there is nothing to complete.
        guard !before.contains(where: { $0.hasPrefix("{") }), !word.hasPrefix("{") else {
            return Answer(start: start, words: [])
        }
        guard let first = before.first else {
            return Answer(start: start, words: Self.matching(Self.verbs(like: word), word, ignoringCase: true))
        }
        guard let verb = VerbDescription.all.first(where: { $0.verb.rawValue == first.uppercased() }) else {
            return Answer(start: start, words: [])
        }
        if let equals = word.firstIndex(of: "=") {
            let name = String(word[..<equals])
            let values = Self.values(of: name, verb).map { "\(name)=\($0)" }
            return Answer(start: start, words: Self.matching(values, word))
        }
        return Answer(start: start, words: candidates(verb, word, behind: Array(before.dropFirst())))
    }

    /// The kind whose keys could complete the line at the cursor; `nil` if no key is expected there.
    public func kindOfWantedKeys(in text: String) -> String? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count > 1, let word = words.last, let slash = word.firstIndex(of: "/"), !word.contains("="),
            !words.contains(where: { $0.hasPrefix("{") })
        else { return nil }
        let kind = String(word[..<slash])
        return kinds.contains(kind) ? kind : nil
    }

    private func candidates(_ verb: VerbDescription, _ word: String, behind words: [String]) -> [String] {
        var candidates: [String] = []
        if let positional = verb.positional, words.allSatisfy({ $0.contains("=") }) {
            switch positional.kind {
            case .verb: candidates += Self.verbs(like: word)
            case .kind: candidates += kinds
            case .key: candidates += keysOrKinds(word)
            case .pattern: candidates += keysOrKinds(word) + kinds.map { "\($0)/*" } + ["*"]
            }
        }
        // The word without a name comes first, and a slash distinguishes a key from an attribute.
        if candidates.isEmpty || !word.isEmpty || verb.positional?.isRequired != true {
            let used = Set(words.compactMap { $0.split(separator: "=").first.map { String($0) } })
            let names = verb.verb == .trait ? TraitName.allCases.map(\.rawValue) : verb.attributes.map(\.text) + ["id"]
            candidates += names.filter { !used.contains($0) && (!word.isEmpty || $0 != "id") }.map { "\($0)=" }
        }
        return Self.matching(candidates, word)
    }

    private func keysOrKinds(_ word: String) -> [String] {
        word.contains("/") ? Array(keys) : kinds.map { "\($0)/" }
    }

    /// Verbs in the case in which the word is written.
    private static func verbs(like word: String) -> [String] {
        let isLower = word.contains { $0.isLowercase }
        return VerbDescription.all.map { isLower ? $0.verb.rawValue.lowercased() : $0.verb.rawValue }
    }

    private static func values(of name: String, _ verb: VerbDescription) -> [String] {
        switch (name, verb.verb) {
        case (_, .trait): TraitName(rawValue: name)?.values.split(separator: "|").map { String($0) } ?? []
        case ("view", _): ["full"] + Surface.allCases.map(\.rawValue)
        case ("surface", _): Surface.allCases.map(\.rawValue)
        case ("value", _): ["on", "off"]
        case ("type", _): ["start", "update", "end"]
        case _: []
        }
    }

    private static func matching(_ words: [String], _ beginning: String, ignoringCase: Bool = false) -> [String] {
        Set(words).filter {
            ignoringCase ? $0.lowercased().hasPrefix(beginning.lowercased()) : $0.hasPrefix(beginning)
        }.sorted()
    }
}

extension String {
    fileprivate func commonPrefix(with other: String) -> String {
        String(zip(self, other).prefix { $0 == $1 }.map { $0.0 })
    }
}
