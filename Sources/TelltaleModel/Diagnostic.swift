/// One fault or doubt about a definition: where it is, what is wrong, and what to do.
public struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    public enum Severity: String, Hashable, Sendable {
        /// The definition is refused.
        case error
        /// The definition is taken, and is probably not what its author meant.
        case warning
    }

    public var severity: Severity
    /// The file's name, or "" where there is none.
    public var file: String
    /// Where in the file, as a path of names and indices: `machine.states.brewing.on.ready[0].target`.
    public var path: String
    /// What is wrong.
    public var message: String
    /// What to do about it.
    public var advice: String

    public init(_ severity: Severity, file: String = "", path: String, _ message: String, advice: String) {
        self.severity = severity
        self.file = file
        self.path = path
        self.message = message
        self.advice = advice
    }

    public var description: String {
        let place = [file, path].filter { !$0.isEmpty }.joined(separator: ": ")
        return "\(severity.rawValue): \(place): \(message) (\(advice))"
    }
}
