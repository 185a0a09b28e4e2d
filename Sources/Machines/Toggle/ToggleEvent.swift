public import TelltaleModel

/// An event for a toggle.
public enum ToggleEvent: Hashable, Sendable {
    /// A person requested a value (`SET`), which is absolute, never a flip. `operation` is the id of the operation that
    /// this tap begins.
    case tapped(Bool, operation: OperationID, connection: ConnectionNumber, isLocked: Bool)
    /// The acting connection of the kind changed; `nil` if there is none (see ``ProviderRoster``).
    case providerChanged(to: ConnectionNumber?)
    /// A provider reported the device's value (`REPORT`). `observedAt` is `nil` if the provider gave no time.
    case reported(Bool, observedAt: Timestamp?)
    /// `DONE op= [value=]`.
    case done(OperationID, value: Bool?, by: ConnectionNumber)
    /// `FAIL op=`.
    case failed(OperationID, ProviderFailure?, by: ConnectionNumber)
    /// ``Toggle/deadline`` is due.
    case deadlineReached
    /// The daemon restarted, and all earlier connections are closed.
    case restarted
    /// The kind file was reloaded with another definition.
    case kindChanged
}
