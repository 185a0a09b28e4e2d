internal import Gateway
internal import NIOCore
internal import Synchronization

/// The listings in progress, for which a stopping gateway does not wait.
final class ListingTable: Sendable {
    private struct Entry {
        var listing: DaemonListing
        var reader: any Channel
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Returns: Whether it was accepted: `false` once the gateway shuts down.
    func insert(_ listing: DaemonListing, to reader: any Channel) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.entries[ObjectIdentifier(listing)] = Entry(listing: listing, reader: reader)
            return true
        }
    }

    func remove(_ listing: DaemonListing) { state.withLock { $0.entries[ObjectIdentifier(listing)] = nil } }

    /// Accepts no more listings, and ends those that do not finish in time.
    func close(in patience: TimeAmount, on loop: any EventLoop) {
        state.withLock { $0.isClosed = true }
        loop.scheduleTask(in: patience) { [self] in
            for entry in state.withLock({ Array($0.entries.values) }) { entry.listing.end(reader: entry.reader) }
        }
    }
}

/// A listing held by its response: it ends with the response, which frees its slot.
final class HeldListing: Sendable {
    let answer: DaemonListing
    private let slot: AnswerSlots.Slot
    private let table: ListingTable
    /// The first piece, until it is written.
    private let first = Mutex<[UInt8]>([])

    /// - Throws: `shutting_down` once the gateway shuts down.
    init(_ answer: DaemonListing, _ slot: AnswerSlots.Slot, in table: ListingTable, to reader: any Channel)
        throws(Problem)
    {
        self.answer = answer
        self.slot = slot
        self.table = table
        guard table.insert(answer, to: reader) else {
            throw Problem("shutting_down", "the gateway goes down; ask again in a moment")
        }
    }

    deinit {
        table.remove(answer)
        answer.close()
    }

    func keep(_ bytes: [UInt8]) { first.withLock { $0 = bytes } }

    func takeFirst() -> [UInt8] {
        first.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
