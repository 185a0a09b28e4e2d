import Machines
import Surfaces
import TelltaleModel
import TestSupport
import Testing

/// Runs `Protocols/Surfaces/projection.table`.
struct ProjectionTableTests {
    @Test("Protocols/Surfaces/projection.table", arguments: try TableFile("Surfaces/projection.table").rows)
    func row(_ row: TableFile.Row) throws {
        let device = try Device(row[1])
        let activities = try row[2].split(separator: ",").enumerated().map { try Named($1, position: $0) }
        let placements = device.project(activities.map(\.activity))
        let shown = zip(activities, placements).filter { $1.isShown }
            .map { "\($0.name) \(Self.describe($1))" }.joined(separator: ", ")
        #expect(shown == row[3])

        let style = Projection.alertStyle(
            of: try #require(activities.first).activity, surface: device.surface, traits: device.traits,
            foreground: device.foreground)
        #expect(style?.rawValue ?? "-" == row[4])
    }

    @Test func `every situation of table 3.3 and every vector about projection has its rows`() throws {
        let table = try TableFile("Surfaces/projection.table")
        let covered = Set(table.rows.map { $0[0] }).union(table.skipped.keys)
        var wanted = Set([
            "visionOS", "CPultra", "pending", "dismissed", "DI-landscape", "watch-limited", "watch-tapped", "tvOS",
        ])
        for (surface, columns) in [
            ("DI", "1 N A F St E Lk"), ("noDI", "1 N A F St E Lk"), ("LS", "1 N A St E"), ("AO", "1 N A St E"),
            ("SB", "1 N A St E tapped"), ("SBnight", "1 N A St E"), ("watch", "1 N A St E"), ("watchApp", "1 N A"),
            ("wristDown", "1 N A St E"), ("CP", "1 N A St E"), ("CPother", "1 N A St E"),
            ("Mac", "1 N A St E selected"),
        ] {
            for column in columns.split(separator: " ") { wanted.insert("\(surface)-\(column)") }
        }
        for vector in [1, 2, 3, 4, 9, 15, 16, 17, 18, 19, 20, 21, 22, 25] { wanted.insert("V\(vector)") }
        #expect(wanted.subtracting(covered).sorted() == [])
        for reason in table.skipped.values { #expect(!reason.isEmpty) }
    }

    @Test func `no vector of section 12 about live activities is in neither table`() throws {
        let tables = try ["Surfaces/projection.table", "Machines/activity.table"].map { try TableFile($0) }
        let covered = Set(tables.flatMap { table in table.rows.map { $0[0] } + table.skipped.keys })
        #expect((1...25).map { "V\($0)" }.filter { !covered.contains($0) } == [])
    }

    @Test func `the settings of section 13 change the open choices`() throws {
        var settings = SurfaceSettings()
        let activities = try ["a:X active", "b:X active alerted=9", "c:Y ended"].enumerated()
            .map { try Named($1[...], position: $0).activity }
        func orders(_ surface: Surface, _ traits: Traits = Traits()) -> [UInt16] {
            Projection.project(
                surface: surface, traits: traits, activities: activities, settings: settings, competing: true
            ).map(\.order)
        }
        #expect(orders(.watch) == [1, 2, 3])
        settings.order = .alert
        #expect(orders(.watch) == [2, 1, 3])
        #expect(orders(.standby) == [1, 0, 0])
        let ended = [activities[2]]
        settings.keepsEndedInStandBy = false
        #expect(
            Projection.project(
                surface: .standby, traits: Traits(), activities: ended, settings: settings, competing: true)
                == [.hidden])
        settings.carPlayFallback = .lockScreen
        #expect(
            Projection.project(
                surface: .carplay, traits: Traits(), activities: activities, settings: settings, competing: true
            )[0].presentation == .lockScreen)
        settings.desktopSelection = .expanded
        func opened(_ activity: VisibleActivity) -> Presentation? {
            Projection.opened(activity, surface: .desktop, traits: Traits(), settings: settings).presentation
        }
        #expect(opened(activities[0]) == .expanded)
        settings.opensDesktopPanel = false
        #expect(
            Projection.alertStyle(of: activities[0], surface: .desktop, traits: Traits(), settings: settings) == nil)
        var withheld = activities[0]
        withheld.isWithheld = true
        #expect(opened(withheld) == nil)
        settings.hidesStaleFromStart = false
        #expect(opened(withheld) == .expanded)
        var alerting = activities[0]
        alerting.isAlerting = true
        func fills() -> Bool {
            Projection.project(
                surface: .standby, traits: Traits(), activities: [alerting], settings: settings, competing: true
            )[0].options.contains(.banner)
        }
        #expect(fills())
        settings.fillsStandBy = false
        #expect(!fills())
    }

    @Test func `a cursor of any other setting is of another selection`() {
        let changes: [(inout SurfaceSettings) -> Void] = [
            { _ in }, { $0.order = .alert }, { $0.lockScreenOrder = .relevance }, { $0.islandOrder = .relevance },
            { $0.carPlayFallback = .lockScreen }, { $0.desktopSelection = .expanded }, { $0.opensDesktopPanel = false },
            { $0.fillsStandBy = false }, { $0.keepsEndedInStandBy = false }, { $0.hidesStaleFromStart = false },
        ]
        let hashes = changes.map { change in
            var settings = SurfaceSettings()
            change(&settings)
            var hash = StableHash()
            settings.combine(into: &hash)
            return hash.finalize()
        }
        #expect(Set(hashes).count == changes.count)
    }

    @Test func `many activities stand in the order in which few do`() throws {
        let places = (0..<40).map { $0 * 7 % 40 }
        let activities = try places.enumerated().map { try Named("a:X active start=\($1)", position: $0).activity }
        let placements = Projection.project(
            surface: .carplay, traits: Traits(), activities: activities, competing: true)
        #expect(placements.map { Int($0.order) } == places.map { $0 + 1 })
    }

    private static func describe(_ placement: Placement) -> String {
        var words = ["\(placement.presentation?.rawValue ?? "hidden")#\(placement.order)"]
        let names: [(Placement.Options, String)] = [
            (.interactive, "taps"), (.joined, "joined"), (.luminanceReduced, "dim"), (.night, "night"),
            (.fullScreen, "full"), (.highlighted, "lit"), (.banner, "banner"), (.expanded, "expanded"),
        ]
        for (option, name) in names where placement.options.contains(option) { words.append(name) }
        if placement.island != .none { words.append("island=\(placement.island)") }
        return words.joined(separator: " ")
    }
}

/// A device of the table: a surface in a situation.
private struct Device {
    var surface: Surface
    var traits = Traits()
    var competes = true
    var isSelected = false
    var foreground: Int32? { traits.foreground.flatMap { Named.number(of: $0) } }

    init(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        surface = try #require(Surface(rawValue: words[0]))
        for word in words.dropFirst() {
            let parts = word.split(separator: "=").map(String.init)
            switch parts[0] {
            case "alone": competes = false
            case "selected": isSelected = true
            case "island": traits.hasIsland = parts[1] == "yes"
            default: try traits.set(parts[0], to: parts[1])
            }
        }
    }

    func project(_ activities: [VisibleActivity]) -> [Placement] {
        if isSelected { return activities.map { Projection.opened($0, surface: surface, traits: traits) } }
        return Projection.project(
            surface: surface, traits: traits, foreground: foreground, activities: activities, competing: competes)
    }
}

/// An activity of the table.
struct Named {
    var name: String
    var activity: VisibleActivity

    init(_ text: Substring, position: Int) throws {
        let words = text.split(separator: " ").map(String.init)
        let names = words[0].split(separator: ":").map(String.init)
        name = names[0]
        activity = VisibleActivity(
            index: Int32(position), app: try #require(Self.number(of: names[1])),
            lifecycle: try #require(Activity.Lifecycle(rawValue: words[1])),
            startedAt: Timestamp(milliseconds: Int64(position)))
        for word in words.dropFirst(2) {
            let parts = word.split(separator: "=").map(String.init)
            switch parts[0] {
            case "small": activity.hasSmallFamily = true
            case "alerting": activity.isAlerting = true
            case "withheld": activity.isWithheld = true
            case "score": activity.score = try #require(Double(parts[1]))
            case "start": activity.startedAt = Timestamp(milliseconds: try #require(Int64(parts[1])))
            case "alerted": activity.lastAlertAt = Timestamp(milliseconds: try #require(Int64(parts[1])))
            default: Issue.record("the table says \(word), which nobody understands")
            }
        }
    }

    static func number(of app: String) -> Int32? { app.utf8.first.map { Int32($0) } }
}
