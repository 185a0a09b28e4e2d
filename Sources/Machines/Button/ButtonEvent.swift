/// What happens to a button.
public enum ButtonEvent: Hashable, Sendable {
    /// A person pressed it (`PRESS`). `operation` names what this press begins.
    case pressed(operation: OperationID, isLocked: Bool)
    /// Another connection acts now, or nobody (see ``ProviderRoster``).
    case providerChanged(to: ConnectionNumber?)
    /// A provider says that it is there (`REPORT` without a value).
    case reported
    /// `DONE op=`.
    case done(OperationID, by: ConnectionNumber)
    /// `FAIL op=`.
    case failed(OperationID, ProviderFailure?, by: ConnectionNumber)
    /// The event that it raised was not taken, though the operation was called done.
    case raiseRefused(OperationID, ProviderFailure)
    /// ``Button/deadline`` has come.
    case deadlineReached
    /// The daemon was started again: no connection of before is there any more.
    case restarted
    /// The kind file was read again, and says something else.
    case kindChanged
}
