internal import TelltaleModel

/// The clocks of a store. They never go back.
struct StoreClocks {
    /// The kinds' clock: never before that of the newest record.
    private(set) var time = Timestamp.distantPast
    /// Wall time, never before that of the newest record: controls, retention and event ids go by it.
    private(set) var wall = Timestamp.distantPast
    /// Both, of the newest record that is kept. A batch without records moves the clocks on here, and on no other node.
    private(set) var ofRecord = (time: Timestamp.distantPast, wall: Timestamp.distantPast)

    init() {}

    /// The clocks of a snapshot: those of its newest record.
    init(time: Timestamp, wall: Timestamp) {
        (self.time, self.wall, ofRecord) = (time, wall, (time, wall))
    }

    mutating func advance(time: Timestamp, wall: Timestamp) {
        self.time = max(self.time, time)
        self.wall = max(self.wall, wall)
    }

    /// A record of now is kept.
    mutating func keepRecord() { ofRecord = (time, wall) }
}

extension EntityStore {
    var time: Timestamp { clocks.time }
    var wall: Timestamp { clocks.wall }
}
