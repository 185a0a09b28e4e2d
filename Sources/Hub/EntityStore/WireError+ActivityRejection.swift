internal import Machines
internal import TelltaleWire

extension WireError {
    /// The error that the sender of a rejected event receives.
    init(_ rejection: ActivityRejection) {
        switch rejection {
        case .badTail(let member, let expected): self = .wrongType(at: member, expected: expected)
        case .notStarted: self.init(.unknownKey, rejection.description)
        case .alertMissing: self.init(.badJSON, rejection.description)
        case .tooLarge: self.init(.tooLarge, rejection.description)
        case .machine: self.init(.machineError, rejection.description)
        case .appLimit, .accountLimit, .markLimit: self.init(.limitActivities, rejection.description)
        }
    }
}
