public import TelltaleModel

/// What happens to a toggle.
public enum ToggleEvent: Hashable, Sendable {
    /// A person asked for a value (`SET`): a target, never a flip. `operation` names what this tap begins.
    case tapped(Bool, operation: OperationID, connection: ConnectionNumber, isLocked: Bool)
    /// Another connection acts now, or nobody (see ``ProviderRoster``).
    case providerChanged(to: ConnectionNumber?)
    /// The real thing is in this state (`REPORT`). `observedAt` = `nil` where the provider did not say.
    case reported(Bool, observedAt: Timestamp?)
    /// `DONE op= [value=]`.
    case done(OperationID, value: Bool?, by: ConnectionNumber)
    /// `FAIL op=`.
    case failed(OperationID, ProviderFailure?, by: ConnectionNumber)
    /// ``Toggle/deadline`` has come.
    case deadlineReached
    /// The daemon was started again: no connection of before is there any more.
    case restarted
    /// The kind file was read again, and says something else.
    case kindChanged
}
