import Machines
import TelltaleModel
import TestSupport
import Testing

/// The inputs that toggles and buttons have in common.
protocol ControlEvent {
    static func providerChanged(to: ConnectionNumber?) -> Self
    static func failed(_: OperationID, _: ProviderFailure?, by: ConnectionNumber) -> Self
    static var deadlineReached: Self { get }
    static var restarted: Self { get }
    static var kindChanged: Self { get }
}

extension ToggleEvent: ControlEvent {}
extension ButtonEvent: ControlEvent {
    static func providerChanged(to provider: ConnectionNumber?) -> Self {
        .providerChanged(to: provider, refreshesAgain: false)
    }
}

/// A control machine that the journal stores.
protocol ControlMachine: Equatable {
    func encode(to writer: inout BinaryWriter)
    init(from reader: inout BinaryReader) throws(BinaryError)
}

extension Toggle: ControlMachine {}
extension Button: ControlMachine {}

/// The circumstances of a script: the clock, the lock of the device, and the number of the newest operation.
struct ScriptCircumstances {
    var now = Timestamp(milliseconds: 1_000_000)
    var operationCount: Int64 = 0
    var isLocked = false

    /// The operation that a tap or a press begins.
    mutating func nextOperation() -> OperationID {
        operationCount += 1
        return OperationID(operationCount)
    }
}

/// A control machine that is driven by the words of its table. The script itself knows its machine's own words; the words
/// that both machines understand are here.
protocol ControlScript {
    associatedtype Machine: ControlMachine
    associatedtype Event: ControlEvent

    init()
    var machine: Machine { get }
    var circumstances: ScriptCircumstances { get set }
    /// The operation under way, and the connection that acts for the control.
    var pendingOperation: OperationID? { get }
    var provider: ConnectionNumber? { get }
    /// The state of the machine, as its table writes it.
    var state: String { get }

    mutating func apply(_ event: Event) throws -> ControlOutcome
    /// The event of an input that only this machine has; `nil` for an unknown word.
    mutating func ownEvent(for input: ScriptInput) throws -> Event?
    /// Changes the kind by a word behind `with`.
    ///
    /// - Returns: Whether there is such a setting.
    mutating func set(_ setting: String) -> Bool
}

extension ControlScript {
    /// - Returns: The outcome of the last input.
    mutating func run(_ script: String) throws -> String {
        var outcome = ""
        for input in ScriptInput.inputs(of: script) {
            do {
                outcome = try event(for: input).map { try apply($0).text } ?? "-"
            } catch let error as ControlRejection {
                outcome = "refused \(error.code)"
            }
        }
        return outcome
    }

    /// `nil` for an input that changes the circumstances and does not reach the machine.
    private mutating func event(for input: ScriptInput) throws -> Event? {
        switch input.verb {
        case "serve": return .providerChanged(to: Int64(input.words[0]))
        case "leave": return .providerChanged(to: nil)
        case "fail": return .failed(operation(of: input), nil, by: connection(of: input))
        case "deadline": return .deadlineReached
        case "restart": return .restarted
        case "kind": return .kindChanged
        case "after":
            circumstances.now = circumstances.now + (try ScriptInput.seconds(input.words[0]))
            return nil
        case "lock", "unlock":
            circumstances.isLocked = input.verb == "lock"
            return nil
        case "disconnect": return nil
        case "with":
            guard set(input.words[0]) else { throw ScriptError(description: "no setting: \(input.words[0])") }
            return nil
        default:
            guard let event = try ownEvent(for: input) else {
                throw ScriptError(description: "no input: \(input.verb)")
            }
            return event
        }
    }

    func operation(of input: ScriptInput) -> OperationID { input.operation ?? pendingOperation ?? OperationID(0) }
    func connection(of input: ScriptInput) -> ConnectionNumber { input.number(after: "by") ?? provider ?? 1 }

    /// Runs a row of a table and checks its state and outcome, and that the journal keeps the state.
    ///
    /// - Returns: The script behind the row.
    @discardableResult
    static func check(_ row: TableFile.Row, of table: TableFile) throws -> Self {
        var script = Self()
        _ = try script.run(try #require(table.states[row[1]]))
        let outcome = try script.run(row[2])
        #expect(script.state == row[3], "\(row)")
        #expect(outcome == row[4], "\(row)")
        try script.machine.checkCoding()
        return script
    }
}

extension ControlMachine {
    /// The encoding is read back whole, and no part of it is taken for a whole.
    fileprivate func checkCoding() throws {
        var writer = BinaryWriter()
        encode(to: &writer)
        var reader = BinaryReader(writer.bytes)
        #expect(try Self(from: &reader) == self)
        #expect(reader.isAtEnd)
        for count in writer.bytes.indices {
            var reader = BinaryReader(Array(writer.bytes[..<count]))
            #expect(throws: BinaryError.self) { try Self(from: &reader) }
        }
    }
}

extension TableFile {
    /// The cases among `cases` that are neither a row of the table nor skipped with a reason.
    func missing(of cases: [String]) -> [String] {
        let named = Set(rows.map { $0[0] }).union(skipped.keys)
        return cases.filter { !named.contains($0) }
    }
}
