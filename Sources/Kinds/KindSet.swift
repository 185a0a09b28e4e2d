public import TelltaleModel
internal import TelltaleStatechart

/// The kinds of one folder, all valid.
public struct KindSet: Sendable {
    /// Sorted by the bytes of their names.
    public let kinds: [Kind]
    private let indices: [String: Int]

    /// If two kinds have the same name, the later one is kept.
    public init(_ kinds: [Kind]) {
        self.kinds = kinds.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        indices = Dictionary(
            self.kinds.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { _, later in later })
    }

    public subscript(name: some StringProtocol) -> Kind? { indices[String(name)].map { kinds[$0] } }

    /// Whether a file name in a kinds folder is a kind file: JSON, but neither a schema nor a hidden file.
    public static func isKindFile(named name: String) -> Bool {
        name.hasSuffix(".json") && !name.hasSuffix(".schema.json") && !name.hasPrefix(".")
    }

    /// Reads and checks the files of a folder.
    ///
    /// - Parameter files: Each file's name, for the diagnostics, and its bytes; in any order.
    /// - Returns: The kinds, or `nil` if a diagnostic is an error; and the diagnostics of all files, errors first, then
    ///   by file.
    public static func load(
        files: [(name: String, bytes: [UInt8])]
    ) -> (kinds: KindSet?, diagnostics: [Diagnostic]) {
        var former = KindReadings()
        return load(files: files, former: &former)
    }

    /// As ``load(files:)``. A file whose content is that of a former reading gives the same kind and is not compiled again.
    ///
    /// - Parameter former: What was read before; what was read now is put in its place.
    public static func load(
        files: [(name: String, bytes: [UInt8])], former: inout KindReadings
    ) -> (kinds: KindSet?, diagnostics: [Diagnostic]) {
        var diagnostics: [Diagnostic] = []
        var kinds: [(kind: Kind, file: String)] = []
        var readings = KindReadings()
        let parser = JSONParser()
        for file in files.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            let (kind, faults) = readings.read(file.bytes, file: file.name, parser: parser, former)
            diagnostics += faults
            guard let kind else { continue }
            if let other = kinds.first(where: { $0.kind.name == kind.name }) {
                diagnostics.append(
                    Diagnostic(
                        .error, file: file.name, path: "kind", "\(quoted(kind.name)) is defined in \(other.file) too",
                        advice: "rename one, or take one file out"))
            } else {
                kinds.append((kind, file.name))
            }
        }
        // A single file is checked by itself, and a file that could not be read may define the kind that seems to be
        // missing.
        let isWhole = files.count > 1 && kinds.count == files.count
        for (kind, file) in kinds {
            diagnostics += lintAcross(kind, file: file, all: kinds.map(\.kind), isWhole: isWhole)
        }
        former = readings
        let sorted = Diagnostic.sorted(diagnostics)
        let isGood = !sorted.contains { $0.severity == .error }
        return (isGood ? KindSet(kinds.map(\.kind)) : nil, sorted)
    }

    /// Reads and checks one file from its bytes.
    public static func read(_ bytes: [UInt8], file: String) -> (kind: Kind?, diagnostics: [Diagnostic]) {
        var readings = KindReadings()
        return readings.read(bytes, file: file, parser: JSONParser(), KindReadings())
    }

    fileprivate static func diagnostic(of error: JSONError, in bytes: [UInt8], file: String) -> Diagnostic {
        guard let fault = JSONFault.first(in: bytes) else {
            return Diagnostic(
                shortening: .error, file: file, path: "", error.description, advice: "mend the file's JSON")
        }
        return Diagnostic(
            shortening: .error, file: "\(file):\(fault.line):\(fault.column)", path: fault.path, fault.message,
            advice: fault.advice
        )
    }
}

/// What was read from the files of a folder.
public struct KindReadings: Sendable {
    private struct Reading {
        let source: JSON
        let kind: Kind?
        let diagnostics: [Diagnostic]
    }

    /// By the names of the files. Files that are no JSON are left out.
    private var readings: [String: Reading] = [:]

    public init() {}

    fileprivate mutating func read(
        _ bytes: [UInt8], file: String, parser: JSONParser, _ former: KindReadings
    ) -> (kind: Kind?, diagnostics: [Diagnostic]) {
        let source: JSON
        do throws(JSONError) {
            source = try parser.parse(bytes.span)
        } catch {
            return (nil, [KindSet.diagnostic(of: error, in: bytes, file: file)])
        }
        if let known = former.readings[file], known.source == source {
            readings[file] = known
            return (known.kind, known.diagnostics)
        }
        let (kind, diagnostics) = Kind.read(source, file: file)
        readings[file] = Reading(source: source, kind: kind, diagnostics: diagnostics)
        return (kind, diagnostics)
    }
}

extension ActivityKind {
    /// Whether the machine names this event anywhere, or takes any event.
    ///
    /// - Parameter event: The name after the renaming that `accept` says.
    public func handles(_ event: String) -> Bool { statechart.handles(event: event) }
}
