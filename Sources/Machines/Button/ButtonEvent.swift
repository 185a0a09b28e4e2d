/// An event for a button.
public enum ButtonEvent: Hashable, Sendable {
    /// A person pressed it (`PRESS`). `operation` is the id of the operation that this press begins.
    ///
    /// `account` is the one for which the press starts an activity; `nil` = everyone.
    case tapped(operation: OperationID, isLocked: Bool, account: String? = nil)
    /// The acting connection of the kind changed; `nil` if there is none (see ``ProviderRoster``).
    ///
    /// `asksAgain` is the rule of releases that did not yet limit a press to one attempt: the operation in progress is sent to
    /// the new provider, whatever its kind says. Only a replay of their records sets it.
    case providerChanged(to: ConnectionNumber?, refreshesAgain: Bool = false)
    /// A provider announced itself (`REPORT` without a value).
    case reported
    /// `DONE op=`.
    case done(OperationID, by: ConnectionNumber)
    /// `FAIL op=`.
    case failed(OperationID, ProviderFailure?, by: ConnectionNumber)
    /// The event that a finished operation raised was refused.
    case raiseRefused(OperationID, ProviderFailure)
    /// ``Button/deadline`` is due.
    case deadlineReached
    /// The daemon restarted, and all earlier connections are closed.
    case restarted
    /// The kind file was reloaded with another definition.
    case kindChanged
}
