internal import TelltaleModel

/// The activities and controls of a crowd. Activities follow their usual roads.
public struct Cast: Sendable, Hashable {
    /// A kind of activity.
    public struct Part: Sendable, Hashable {
        public var kind: String
        /// Its weight among the parts when a new activity begins.
        public var weight: Int
        /// The events of a life without troubles, in order.
        public var road: [String]
        /// Events that a disorderly sender adds.
        public var others: [String]

        public init(kind: String, weight: Int, road: [String], others: [String]) {
            (self.kind, self.weight, self.road, self.others) = (kind, weight, road, others)
        }
    }

    public var parts: [Part]
    /// Keys. A scenario's own exist once their provider has reported them.
    public var toggles: [String]
    public var buttons: [String]
    /// Whether a provider reports every control when it comes.
    public var reportsControls = false

    /// The kinds of ``SimulatedKinds``.
    public static let simulated = Cast(
        parts: [
            Part(kind: "order", weight: 700, road: roads["order"]?.road ?? [], others: ["cancel"]),
            Part(kind: "ride", weight: 300, road: roads["ride"]?.road ?? [], others: ["cancel"]),
        ], toggles: ["lamp/1", "lamp/2", "lamp/3"], buttons: ["bell/1"])

    /// The usual roads of the kinds that ship.
    static let roads: [String: (road: [String], others: [String])] = [
        "order": (["start", "confirm", "brew", "ready", "collect"], ["cancel"]),
        "ride": (["start", "ride", "pause", "ride", "arrive"], ["cancel"]),
        "coffee-order": (["start", "confirm", "brew", "ready", "collect"], ["cancel"]),
        "flight": (["scheduled_departure", "departed", "arrived_dest_local"], ["canceled"]),
        "parcel": (["purchased", "approved", "handed_to_carrier", "delivered"], ["canceled"]),
    ]

    func pick(_ random: inout SimulationRandom) -> Part? {
        var draw = random.below(parts.reduce(0) { $0 + $1.weight })
        for part in parts {
            draw -= part.weight
            if draw < 0 { return part }
        }
        return parts.last
    }

    func road(of kind: some StringProtocol) -> (road: [String], others: [String]) {
        parts.first { $0.kind == kind }.map { ($0.road, $0.others) } ?? ([], [])
    }

    /// The kinds of its controls, each once.
    var controlKinds: [String] {
        var kinds: [String] = []
        for key in toggles + buttons {
            let kind = String(key.prefix { $0 != "/" })
            if !kinds.contains(kind) { kinds.append(kind) }
        }
        return kinds
    }
}

extension Cast {
    /// Of `population`: `kinds`, `toggles` and `buttons`; the swarm's own where a scenario names none.
    init(_ reader: inout ScenarioReader) {
        self = .simulated
        if let kinds = reader.inner("kinds") {
            parts = kinds.members.compactMap { Part($0.name, $0.value, of: kinds) }
            if kinds.members.isEmpty { kinds.fault("names no kind") }
            (toggles, buttons) = ([], [])
            reportsControls = true
        }
        for (name, path) in [("toggles", \Cast.toggles), ("buttons", \Cast.buttons)] {
            guard let keys = reader.texts(name) else { continue }
            for bad in keys where Key(bad) == nil {
                reader.fault(name, "holds \(bad), which is no key such as porch-light/front")
            }
            self[keyPath: path] = keys
            reportsControls = true
        }
    }
}

extension Cast.Part {
    /// A weight, or an object of weight, road and others.
    ///
    /// - Returns: `nil` after noting the fault.
    fileprivate init?(_ name: String, _ json: JSON, of kinds: ScenarioReader) {
        let path = "\(kinds.path).\(name)"
        var (road, others) = Cast.roads[name] ?? ([], [])
        var weight: Int64? = 1
        if json.object != nil, var part = ScenarioReader(json, at: path, kinds.faults) {
            weight = part.count("weight", 1...1_000_000).map { Int64($0) } ?? 1
            road = part.texts("road") ?? road
            others = part.texts("others") ?? others
            part.finish()
        } else {
            weight = json.integer
            guard let weight, (1...1_000_000).contains(weight) else {
                kinds.fault(name, "takes a weight from 1 to 1000000, or an object of weight, road and others")
                return nil
            }
        }
        guard !road.isEmpty else {
            kinds.fault(
                name, "needs its road, the events of a usual life: { \"weight\": 1, \"road\": [\"start\", …] }")
            return nil
        }
        self.init(kind: name, weight: Int(weight ?? 1), road: road, others: others)
    }
}
