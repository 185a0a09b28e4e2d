/// One error or warning about a definition: its location, the fault, and the remedy.
public struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    public enum Severity: String, Hashable, Sendable {
        /// The definition is refused.
        case error
        /// The definition is accepted, but probably does not mean what its author intended.
        case warning
    }

    public var severity: Severity
    /// The file's name; empty if there is none.
    public var file: String
    /// The location in the file, as a path of names and indices: `machine.states.brewing.on.ready[0].target`.
    public var path: String
    /// The fault.
    public var message: String
    /// The remedy.
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
