import Hub
import TelltaleEventLoop

/// The connections of the open sessions. Every row sent and every line received looks one up, so neither direction
/// hashes.
struct ConnectionTable {
    private var places: [(id: SessionID, connection: Connection)?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    subscript(id: SessionID) -> Connection? {
        let slot = Int(id.slot)
        guard places.indices.contains(slot), let place = places[slot], place.id == id else { return nil }
        return place.connection
    }

    /// The session of a connection; `nil` if it was removed.
    func session(of connection: Connection) -> SessionID? {
        guard places.indices.contains(connection.tag), let place = places[connection.tag],
            place.connection === connection
        else { return nil }
        return place.id
    }

    /// - Precondition: No other open session has the slot of `id`.
    mutating func insert(_ connection: Connection, of id: SessionID) {
        let slot = Int(id.slot)
        while places.count <= slot { places.append(nil) }
        precondition(places[slot] == nil, "slot \(slot) is taken")
        connection.tag = slot
        places[slot] = (id, connection)
        count += 1
    }

    /// - Returns: The session that used the connection.
    mutating func remove(_ connection: Connection) -> SessionID? {
        guard let id = session(of: connection) else { return nil }
        places[connection.tag] = nil
        count -= 1
        return id
    }

    var sessions: [SessionID] { places.compactMap { $0?.id } }
    var all: [Connection] { places.compactMap { $0?.connection } }
}
