import EventLoop
import Hub

/// The connections of the open sessions, found without hashing: every row that leaves asks for one.
struct ConnectionTable {
    private var places: [(id: SessionID, connection: Connection)?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    subscript(id: SessionID) -> Connection? {
        get {
            let slot = Int(id.slot)
            guard places.indices.contains(slot), let place = places[slot], place.id == id else { return nil }
            return place.connection
        }
        set {
            let slot = Int(id.slot)
            while places.count <= slot { places.append(nil) }
            if places[slot] != nil { count -= 1 }
            places[slot] = newValue.map { (id, $0) }
            if newValue != nil { count += 1 }
        }
    }

    var all: [Connection] { places.compactMap { $0?.connection } }
}
