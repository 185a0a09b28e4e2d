public import TelltaleModel

/// A named world: its clients, script, faults and expected outcome (`Protocols/Scenarios`).
public struct Scenario: Sendable {
    public var name: String
    public var title: String
    public var about: String
    public var climate: FaultProfile
    public var setting: Setting
    public var expectations: Expectations

    /// A fault of a scenario file: the member, the reason, and a correction.
    public struct Fault: Error, CustomStringConvertible {
        public var description: String

        public init(description: String) {
            self.description = description
        }
    }

    /// - Parameter name: The file's, without its ending.
    public init(_ json: JSON, name: String) throws(Fault) {
        do throws(Fault) {
            try self.init(reading: json, name: name)
        } catch {
            throw Fault(description: "\(name): \(error)")
        }
    }

    /// Reads every part of the file, so that the faults of all parts are reported at once; of one part, one.
    private init(reading json: JSON, name: String) throws(Fault) {
        var reader = try ScenarioReader(json, at: "$")
        var faults: [String] = []
        func part(_ body: () throws(Fault) -> Void) {
            do throws(Fault) { try body() } catch { faults.append(error.description) }
        }
        _ = reader.take("$schema")
        self.name = name
        title = ""
        about = ""
        climate = FaultProfile(calmWithSeed: 1)
        setting = Setting()
        expectations = Expectations()
        part { () throws(Fault) in title = try reader.needText("title") }
        part { () throws(Fault) in about = try reader.text("about") ?? "" }
        part { () throws(Fault) in
            guard let seed = reader.take("seed") else { return }
            guard let seed = seed.integer else { throw reader.fault("seed", "takes a whole number") }
            climate = FaultProfile(calmWithSeed: UInt64(bitPattern: seed))
        }
        part { () throws(Fault) in
            guard var clock = try reader.inner("clock") else { return }
            setting.clockSpeed = Int64(try clock.count("speed", 1...100_000) ?? 1)
            try clock.finish()
        }
        part { () throws(Fault) in climate.startsFull = try reader.flag("startsFull") ?? false }
        part { () throws(Fault) in try readPopulation(&reader) }
        part { () throws(Fault) in setting.arrivals = try Arrivals(&reader) }
        part { () throws(Fault) in
            guard var faults = try reader.inner("faults") else { return }
            try climate.read(&faults, .faults)
            try faults.finish()
        }
        part { () throws(Fault) in
            guard var clients = try reader.inner("clients") else { return }
            try climate.read(&clients, .clients)
            try setting.readSurfaces(&clients)
            try clients.finish()
        }
        var screens: [ScenarioReader] = []
        part { () throws(Fault) in screens = try reader.list("screens") }
        for var screen in screens {
            part { () throws(Fault) in
                let read = try StageScreen(&screen)
                guard !setting.screens.contains(where: { $0.name == read.name }) else {
                    throw screen.fault("name", "is \(read.name), as that of a screen before it")
                }
                setting.screens.append(read)
            }
        }
        var steps: [ScenarioReader] = []
        part { () throws(Fault) in steps = try reader.list("steps") }
        for var step in steps {
            part { () throws(Fault) in
                setting.steps.append(try Step(&step, screens: setting.screens, after: setting.steps.last?.at ?? 0))
            }
        }
        part { () throws(Fault) in expectations = try Expectations(&reader, screens: setting.screens) }
        part { () throws(Fault) in try reader.finish() }
        part { () throws(Fault) in
            let clients = climate.producers + climate.fingers + steps.count
            guard clients == 0, setting.trace == nil, faults.isEmpty else { return }
            throw reader.fault("population", "has nobody who does anything: name producers, fingers, a trace or steps")
        }
        guard faults.isEmpty else { throw Fault(description: faults.joined(separator: "\n\(name): ")) }
    }

    private mutating func readPopulation(_ reader: inout ScenarioReader) throws(Fault) {
        // A script is played by its own clients alone, where the file names no others.
        if reader.has("steps"), !reader.has("population"), !reader.has("arrivals") {
            (climate.producers, climate.screens, climate.fingers, climate.providers) = (0, 0, 0, 0)
        }
        if var population = try reader.inner("population") {
            try climate.read(&population, .population)
            setting.cast = try Cast(&population)
            setting.trace = try TraceFile(&population, named: "trace", needsKind: true)
            try population.finish()
        }
        // A kind that no client uses need not exist.
        if climate.producers == 0 { setting.cast.parts = [] }
        if climate.fingers == 0, !setting.cast.reportsControls {
            (setting.cast.toggles, setting.cast.buttons) = ([], [])
        }
    }

    /// The kinds whose files a daemon in process needs, without the swarm's own.
    public var kindNames: [String] {
        setting.kindNames.filter { !["order", "ride", "lamp", "bell"].contains($0) }
    }
}

/// The kinds, clients and script of a world, without its faults.
public struct Setting: Sendable {
    public var cast = Cast.simulated
    /// The kind files of a daemon in process; empty: ``SimulatedKinds``.
    public var kinds: [JSON] = []
    /// How many times as fast as real time kinds' clocks run.
    public var clockSpeed: Int64 = 1
    public var arrivals: Arrivals?
    /// Cases that happened, posted at their offsets.
    public var trace: TraceFile?
    public var plan: ReplayPlan?
    public var screens: [StageScreen] = []
    public var steps: [Step] = []
    /// The views of the crowd's screens, with weights; empty: all of them, in turn.
    var surfaces: [(view: String, weight: Int)] = []
    /// A suffix of every id and account, so that two runs at one daemon do not share keys.
    public var tag = ""

    public init() {}

    /// Every kind that a client or the script uses, each once.
    public var kindNames: [String] {
        var names: [String] = cast.parts.map(\.kind) + cast.controlKinds
        if let kind = trace?.kind { names.append(kind) }
        for step in steps {
            if let key = step.key { names.append(String(key.prefix { $0 != "/" })) }
        }
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// The setting of a run at a daemon in another process: its keys carry `tag`, and its providers report every control.
    func forRun(tag: String) -> Setting {
        var setting = self
        setting.tag = tag
        setting.cast.toggles = cast.toggles.map { setting.tagged($0) }
        setting.cast.buttons = cast.buttons.map { setting.tagged($0) }
        setting.cast.reportsControls = true
        return setting
    }

    /// A name of the scenario, as this run writes it.
    func tagged(_ name: String) -> String { tag.isEmpty ? name : "\(name)~\(tag)" }

    fileprivate mutating func readSurfaces(_ reader: inout ScenarioReader) throws(Scenario.Fault) {
        guard let surfaces = try reader.inner("surfaces") else { return }
        for member in surfaces.members {
            guard ViewName(member.name) != nil else {
                throw surfaces.fault(
                    member.name,
                    "is none of \(Surface.allCases.map(\.rawValue).joined(separator: ", ")), full")
            }
            guard let weight = member.value.integer, (0...1_000_000).contains(weight) else {
                throw surfaces.fault(member.name, "takes a weight, a whole number from 0")
            }
            if weight > 0 { self.surfaces.append((member.name, Int(weight))) }
        }
        guard !self.surfaces.isEmpty else { throw Scenario.Fault(at: surfaces.path, "has no surface above 0") }
    }

    /// The view of the crowd's screen of that number: the mix as it was named, evenly spread.
    func view(ofScreen number: Int) -> String? {
        let total = surfaces.reduce(0) { $0 + $1.weight }
        guard total > 0 else { return nil }
        // A step of the golden ratio spreads few screens over all weights.
        var place = (number * 618_034 % 1_000_000) * total / 1_000_000
        for surface in surfaces {
            place -= surface.weight
            if place < 0 { return surface.view }
        }
        return surfaces.last?.view
    }
}

extension Step {
    var key: String? {
        switch deed {
        case .post(let key, _, _, _), .set(let key, _, _), .press(let key, _), .open(let key, _), .dismiss(let key, _):
            key
        case .expect(let sight, _): sight.key
        case .traits, .say: nil
        }
    }
}

extension FaultProfile {
    /// No faults but the ones that are set.
    init(calmWithSeed seed: UInt64) {
        self.init(seed: seed)
        for knob in Self.knobs where knob.group == .faults { knob.set(&self, knob.range.lowerBound) }
        startsFull = false
        snapshotEvery = 1_000
        retention = 300
        inputs = 500
    }

    fileprivate mutating func read(_ reader: inout ScenarioReader, _ group: Knob.Group) throws(Scenario.Fault) {
        for knob in Self.knobs where knob.group == group {
            if let value = try reader.count(knob.name, knob.range) { knob.set(&self, value) }
        }
    }
}
