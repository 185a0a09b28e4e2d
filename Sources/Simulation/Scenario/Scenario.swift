internal import Kinds
public import Recordings
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

    /// - Parameters:
    ///   - bytes: Of the file.
    ///   - name: The file's, without its ending.
    /// - Throws: One fault that lists all faults of the file, one a line, each with its place and a correction.
    public init(file bytes: [UInt8], name: String) throws(Fault) {
        guard let json = try? JSONParser().parse(bytes.span) else {
            guard let fault = JSONFault.first(in: bytes) else { throw Fault(description: "\(name): is no JSON") }
            let place = fault.path.isEmpty ? "" : ", in \(fault.path)"
            throw Fault(
                description:
                    "\(name): line \(fault.line), column \(fault.column)\(place): \(fault.message) (\(fault.advice))")
        }
        try self.init(json, name: name)
    }

    /// - Parameter name: The file's, without its ending.
    /// - Throws: As ``init(file:name:)``.
    public init(_ json: JSON, name: String) throws(Fault) {
        let faults = ScenarioFaults()
        self.name = name
        title = ""
        about = ""
        climate = FaultProfile(calmWithSeed: 1)
        setting = Setting()
        expectations = Expectations()
        if var reader = ScenarioReader(json, at: "$", faults) { read(&reader) }
        guard faults.texts.isEmpty else {
            throw Fault(description: faults.texts.map { "\(name): \($0)" }.joined(separator: "\n"))
        }
    }

    private mutating func read(_ reader: inout ScenarioReader) {
        _ = reader.readValue("$schema")
        title = reader.needText("title") ?? ""
        about = reader.text("about") ?? ""
        if let seed = reader.readValue("seed") {
            if let seed = seed.integer {
                climate = FaultProfile(calmWithSeed: UInt64(bitPattern: seed))
            } else {
                reader.fault("seed", "takes a whole number")
            }
        }
        if var clock = reader.inner("clock") {
            setting.clockSpeed = Int64(clock.count("speed", 1...100_000) ?? 1)
            clock.finish()
        }
        climate.startsFull = reader.flag("startsFull") ?? false
        readPopulation(&reader)
        setting.arrivals = Arrivals(&reader)
        if var faults = reader.inner("faults") {
            climate.read(&faults, .faults)
            faults.finish()
        }
        if var clients = reader.inner("clients") {
            climate.read(&clients, .clients)
            setting.readSurfaces(&clients)
            clients.finish()
        }
        readScript(&reader)
        expectations = Expectations(&reader, screens: setting.screens)
        reader.finish()
        let clients = climate.producers + climate.fingers + setting.steps.count
        guard clients == 0, setting.trace == nil, reader.faults.texts.isEmpty else { return }
        reader.fault("population", "has nobody who does anything: name producers, fingers, a trace or steps")
    }

    private mutating func readScript(_ reader: inout ScenarioReader) {
        for var screen in reader.list("screens") {
            guard let read = StageScreen(&screen) else { continue }
            if setting.screens.contains(where: { $0.name == read.name }) {
                screen.fault("name", "is \(read.name), as that of a screen before it")
            } else {
                setting.screens.append(read)
            }
        }
        var latest: Int64 = 0
        for var step in reader.list("steps") {
            guard let read = ScriptStep(&step, screens: setting.screens, after: latest) else { continue }
            latest = read.at
            setting.steps.append(read)
        }
    }

    private mutating func readPopulation(_ reader: inout ScenarioReader) {
        // A script is played by its own clients and by those that the file names.
        if reader.has("steps"), !reader.has("arrivals") {
            (climate.producers, climate.screens, climate.fingers, climate.providers) = (0, 0, 0, 0)
        }
        if var population = reader.inner("population") {
            climate.read(&population, .population)
            setting.cast = Cast(&population)
            setting.trace = TraceFile(&population, named: "trace", needsKind: true)
            population.finish()
        }
        // A kind that no client uses need not exist.
        if climate.producers == 0 { setting.cast.parts = [] }
        if climate.fingers == 0, !setting.cast.reportsControls {
            (setting.cast.toggles, setting.cast.buttons) = ([], [])
        }
    }

    /// Whether people arrange boards in it. Only a daemon in process has no boards but theirs.
    public var hasBoards: Bool {
        let isArranged = setting.steps.contains { step in if case .tile = step.action { true } else { false } }
        return isArranged || setting.screens.contains { $0.board != nil }
    }

    /// The kinds whose files a daemon in process needs, without the swarm's own.
    public var kindNames: [String] {
        setting.kindNames.filter { !["order", "ride", "lamp", "bell"].contains($0) }
    }

    // MARK: Traces

    /// Reads the trace files that the scenario names.
    ///
    /// - Parameter bytes: Returns the bytes of a file, by the name that the scenario gives it.
    public mutating func readTraces(_ bytes: (String) throws -> [UInt8]) throws {
        if let trace = setting.trace {
            var plan: ReplayPlan
            let file = try bytes(trace.name)
            do throws(TraceError) {
                plan = try ReplayPlan(Trace(csv: file).first(trace.cases ?? .max), kind: trace.kind ?? "")
            } catch {
                throw Fault(at: trace.path, "names \(trace.name): \(error)")
            }
            if let span = trace.span { plan = plan.squeezed(into: Milliseconds(span)) }
            setting.plan = plan
        }
        if let trace = setting.arrivals?.traceFile {
            setting.arrivals?.trace = try Self.offsets(bytes(trace.name), trace)
        }
    }

    /// One offset a line, or the times of a trace's rows.
    private static func offsets(_ bytes: [UInt8], _ file: TraceFile) throws(Fault) -> [Int64] {
        var offsets: [Int64] = []
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        if lines.first?.contains("case_id") == true {
            do throws(TraceError) {
                let times = try Trace(csv: bytes).cases.flatMap(\.rows).compactMap(\.time).sorted()
                offsets = times.map { ($0 - (times.first ?? $0)).count }
            } catch {
                throw Fault(at: file.path, "names \(file.name): \(error)")
            }
        } else {
            for (number, line) in lines.enumerated() {
                guard let offset = Int64(line), offset >= offsets.last ?? 0 else {
                    throw Fault(
                        at: file.path,
                        "names \(file.name), whose line \(number + 1) is no offset in milliseconds, from 0 and rising")
                }
                offsets.append(offset)
            }
        }
        guard let last = offsets.last else { throw Fault(at: file.path, "names \(file.name), which has no times") }
        guard let span = file.span, last > 0 else { return offsets }
        return offsets.map { Int64(Double($0) / Double(last) * Double(span)) }
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
    public var steps: [ScriptStep] = []
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
        // Boards are of no kind.
        return names.filter { !$0.hasPrefix("@") && seen.insert($0).inserted }
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

    fileprivate mutating func readSurfaces(_ reader: inout ScenarioReader) {
        guard let surfaces = reader.inner("surfaces") else { return }
        for member in surfaces.members {
            if ViewName(member.name) == nil {
                surfaces.fault(
                    member.name, "is none of \(Surface.allCases.map(\.rawValue).joined(separator: ", ")), full")
            } else if let weight = member.value.integer, (0...1_000_000).contains(weight) {
                if weight > 0 { self.surfaces.append((member.name, Int(weight))) }
            } else {
                surfaces.fault(member.name, "takes a weight, a whole number from 0 to 1000000")
            }
        }
        if surfaces.members.allSatisfy({ $0.value == .integer(0) }) { surfaces.fault("has no surface above 0") }
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

extension ScriptStep {
    var key: String? {
        switch action {
        case .post(let key, _, _, _), .set(let key, _, _), .press(let key, _), .open(let key, _), .dismiss(let key, _):
            key
        case .expect(let expected, _): expected.key
        case .tile(let tile, _): tile.widget
        case .traits, .connection, .say: nil
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

    fileprivate mutating func read(_ reader: inout ScenarioReader, _ group: Knob.Group) {
        for knob in Self.knobs where knob.group == group {
            if let value = reader.count(knob.name, knob.range) { knob.set(&self, value) }
        }
    }
}

extension Trace {
    /// Its first cases.
    fileprivate func first(_ count: Int) -> Trace {
        var trace = self
        trace.keep(count)
        return trace
    }
}
