import Replication

/// The checkpoints of a simulated log store. Whole ones stay whole, but for one at a time.
struct SimulatedCheckpoints {
    private var stored: [String: (pieces: [[UInt8]], manifest: [UInt8]?)] = [:]
    /// The ends of the ids of checkpoints that are not what they say.
    private static let (foreign, misplaced) = ("-7-1", "-7-2")
    /// The checkpoint that was damaged.
    private(set) var damaged: String?

    /// - Returns: `nil` for what nothing answers.
    mutating func answer(_ request: CheckpointRequest, _ extent: LogExtent) -> CheckpointAnswer? {
        switch request {
        case .list:
            let checkpoints = stored.map {
                StoredCheckpoint(id: $0, manifest: $1.manifest, pieceCount: $1.pieces.count)
            }
            return .list(checkpoints.sorted { $0.id < $1.id }, extent)
        case .store(let piece, let number, let id):
            stored[id, default: ([], nil)].pieces.append(piece)
            return .stored(number: number, of: id)
        case .finish(let manifest, let id):
            stored[id, default: ([], nil)].manifest = manifest
            return .finished(id)
        case .read(let id, let from):
            return .pieces(Array((stored[id]?.pieces ?? []).dropFirst(from).prefix(3)), of: id, from: from)
        case .remove(let id):
            stored[id] = nil
            if damaged == id { damaged = nil }
        case .purge, .message: break
        }
        return nil
    }

    /// As a manifest would have it.
    func checksum(of id: String) -> UInt64 { CheckpointCutter.checksum(of: stored[id]?.pieces ?? []) }

    /// The whole checkpoints, oldest first, but for the damaged one.
    var whole: [CheckpointManifest] {
        stored.compactMap { id, checkpoint in
            guard id != damaged, !id.hasSuffix(Self.foreign), !id.hasSuffix(Self.misplaced),
                let bytes = checkpoint.manifest,
                let manifest = try? CheckpointManifest(decoding: bytes),
                manifest.pieceCount == checkpoint.pieces.count
            else { return nil }
            return manifest
        }.sorted { $0.reader.position < $1.reader.position }
    }

    /// Damages the newest checkpoint where the one before it is whole, or adds one that is not of this history.
    ///
    /// - Parameter messages: Of the log.
    mutating func suffer(_ random: inout SimulationRandom, epoch: UInt64?, _ messages: [[UInt8]]) -> String {
        guard let newest = whole.last, var checkpoint = stored[newest.id] else { return "stays as it is" }
        /// Stores the newest checkpoint once more, under a manifest that reports another epoch or place.
        func storeAgain(_ suffix: String, epoch: UInt64?, position: Int64) -> String {
            var manifest = newest
            let reader = newest.reader
            manifest.reader = LogReader(
                cluster: reader.cluster, epoch: epoch, position: position, digests: reader.digests, chain: reader.chain,
                leader: reader.leader)
            manifest.id = "\(position)\(suffix)"
            stored[manifest.id] = (checkpoint.pieces, manifest.encoded())
            return manifest.id
        }
        let reader = newest.reader
        if random.chance(400) {
            _ = storeAgain(Self.foreign, epoch: (epoch ?? 0) ^ 1, position: reader.position + 3)
            return "of another epoch is stored"
        }
        if random.chance(300) {
            // Behind a leader that says the same twice it is as good a checkpoint as the other one.
            let place = Int(reader.position)
            if place < messages.count, place > 0, messages[place] == messages[place - 1] { return "stays as it is" }
            return "tells another place: "
                + storeAgain(Self.misplaced, epoch: reader.epoch, position: reader.position + 1)
        }
        guard damaged == nil, whole.count >= 2 else { return "stays as it is" }
        damaged = newest.id
        let place = random.below(checkpoint.pieces.count)
        if random.chance(500) {
            checkpoint.pieces.remove(at: place)
        } else {
            checkpoint.pieces[place][random.below(checkpoint.pieces[place].count)] ^= 0x10
        }
        stored[newest.id] = checkpoint
        return "is damaged: \(newest.id)"
    }
}
