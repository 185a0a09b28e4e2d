/// The connections that serve one kind, in the order in which they registered. The first one acts; the others stand by.
public struct ProviderRoster: Hashable, Sendable {
    public private(set) var connections: [ConnectionNumber] = []

    public init() {}

    /// The acting connection, for every control of the kind.
    public var acting: ConnectionNumber? { connections.first }

    /// - Returns: Whether the acting connection changed. Every control of the kind must then receive
    ///   ``ToggleEvent/providerChanged(to:)``.
    public mutating func serve(_ connection: ConnectionNumber) -> Bool {
        guard !connections.contains(connection) else { return false }
        connections.append(connection)
        return connections.count == 1
    }

    /// - Returns: As for ``serve(_:)``.
    public mutating func leave(_ connection: ConnectionNumber) -> Bool {
        let before = acting
        connections.removeAll { $0 == connection }
        return acting != before
    }
}
