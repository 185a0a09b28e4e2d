import Machines
import Surfaces
import TelltaleModel
import TestSupport
import Testing

struct ProjectionHistoryTests {
    @Test("in any situation and after any event, no screen shows a row that it must not", arguments: Surface.allCases)
    func invariants(on surface: Surface) throws {
        for seed in 0..<1000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let traits = try Self.traits(&random)
            let foreground = traits.foreground == nil ? nil : Int32(random.below(4))
            let activities = (0..<Int(random.below(14))).map { Self.activity(Int32($0), &random) }
            let competing = random.chance(80)
            let placements = Projection.project(
                surface: surface, traits: traits, foreground: foreground, activities: activities, competing: competing)
            #expect(placements.count == activities.count)
            // What else a device says of its situation decides no place.
            let same = Projection.project(
                surface: surface, traits: traits.placing, foreground: foreground, activities: activities,
                competing: competing)
            expect(same == placements, "seed \(seed): \(traits)")
            for (activity, placement) in zip(activities, placements) {
                check(activity, placement, surface, traits, foreground, seed)
                let style = Projection.alertStyle(
                    of: activity, surface: surface, traits: traits, foreground: foreground)
                check(style, of: activity, placement, isLocked: traits.isLocked, seed)
            }
            guard competing else { continue }
            let shown = placements.filter(\.isShown)
            expect(
                shown.map(\.order).sorted() == (0..<shown.count).map { UInt16($0 + 1) },
                "seed \(seed): places are 1 to n")
            let islands = zip(activities, placements).filter { $1.island != .none }
            expect(islands.count <= 2, "seed \(seed)")
            expect(Set(islands.map(\.0.app)).count == islands.count, "seed \(seed): two of one app on the island")
            let forms = Set(islands.map(\.1.island))
            expect(
                [[], [.compact], [.attached, .detached]].contains(forms), "seed \(seed): \(forms)")
            // The order in which activities are handed in decides nothing.
            let turned = Projection.project(
                surface: surface, traits: traits, foreground: foreground, activities: activities.reversed(),
                competing: true)
            expect(turned.reversed() == placements, "seed \(seed)")
        }
    }

    private func check(
        _ activity: VisibleActivity, _ placement: Placement, _ surface: Surface, _ traits: Traits, _ foreground: Int32?,
        _ seed: UInt64
    ) {
        switch activity.lifecycle {
        case .pending, .dismissed: expect(!placement.isShown && placement.island == .none, "seed \(seed)")
        case .ended:
            expect(placement.island == .none, "seed \(seed): an ended one on the island")
            if surface == .carplay { expect(!placement.isShown, "seed \(seed): an ended one on CarPlay") }
        case .active, .stale: break
        }
        if !placement.isShown { expect(placement == .hidden, "seed \(seed): hidden, and yet somewhere") }
        if activity.isWithheld { expect(!placement.isShown, "seed \(seed)") }
        if surface == .carplay || traits.isLocked && surface != .watch && surface != .desktop {
            expect(!placement.isInteractive, "seed \(seed)")
        }
        if placement.island != .none {
            expect(surface == .phone && !traits.isLocked && activity.app != foreground, "seed \(seed)")
        }
        if placement.presentation == .small { expect(activity.hasSmallFamily, "seed \(seed)") }
    }

    /// An alert is drawn with the views of its own row, or it is only the sound and the light of a locked device or of
    /// an end.
    private func check(
        _ style: AlertStyle?, of activity: VisibleActivity, _ placement: Placement, isLocked: Bool, _ seed: UInt64
    ) {
        guard activity.isAlerting else {
            return expect(placement == placement.withoutAlert, "seed \(seed): draws the eye for nothing")
        }
        switch style {
        case .expanded:
            let expands = placement.island != .none || placement.options.contains(.expanded)
            expect(
                expands == (!isLocked && [.active, .stale].contains(activity.lifecycle) && placement.isShown),
                "seed \(seed): what expands")
        case .banner:
            let hasBanner = placement.options.contains(.banner)
            expect(hasBanner == (!isLocked && placement.isShown), "seed \(seed): banner")
        case nil, .alert, .notification, .panel:
            // A display in StandBy and a dashboard draw the eye in their own place, without an alert.
            expect(!placement.options.contains(.expanded), "seed \(seed): expands without an alert")
        }
    }

    private static func traits(_ random: inout SeededGenerator) throws -> Traits {
        var traits = Traits()
        traits.hasIsland = random.chance(80)
        let values = [
            ("dashboard", "hidden"), ("foreground", "com.example.x"), ("locked", "yes"), ("wrist", "down"),
            ("light", "low"), ("luminance", "reduced"), ("focus", "on"), ("standby", "tapped"),
        ]
        for (name, value) in values where random.chance(25) { try traits.set(name, to: value) }
        return traits
    }

    private static func activity(_ index: Int32, _ random: inout SeededGenerator) -> VisibleActivity {
        VisibleActivity(
            index: index, app: Int32(random.below(4)),
            lifecycle: Activity.Lifecycle.allCases[Int(random.below(5))], score: Double(random.below(3)),
            startedAt: Timestamp(milliseconds: Int64(random.below(5))),
            lastAlertAt: random.chance(40) ? Timestamp(milliseconds: Int64(random.below(5))) : nil,
            isAlerting: random.chance(20), isWithheld: random.chance(5), hasSmallFamily: random.chance(50))
    }
}

struct TraitsTests {
    @Test func `the first value of each trait is the default`() throws {
        var traits = Traits()
        let firsts = [
            ("dashboard", "visible"), ("foreground", "none"), ("locked", "no"), ("show", "unlocked"), ("wrist", "up"),
            ("light", "normal"),
            ("luminance", "normal"), ("focus", "off"), ("standby", "off"), ("island", "auto"), ("tint", "none"),
            ("appearance", "light"),
            ("desktop", "front"), ("distance", "near"), ("touch", "yes"), ("screen", "on"), ("place", "none"),
            ("fitness", "none"), ("sleep", "none"), ("headphones", "off"), ("motion", "full"),
        ]
        #expect(firsts.map(\.0) == Traits.names)
        for (name, value) in firsts { try traits.set(name, to: value) }
        #expect(traits == Traits())
    }

    @Test(
        "a trait that nobody knows changes nothing",
        arguments: [
            ("dashboard", "shown"), ("standby", "on off"), ("foreground", ""), ("mood", "good"), ("locked", ""),
            ("tint", ""), ("place", "moon"), ("touch", "maybe"),
        ])
    func unknown(_ name: String, _ value: String) throws {
        var traits = Traits()
        try traits.set("locked", to: "yes")
        let before = traits
        #expect(throws: TraitError.self) { try traits.set(name, to: value) }
        #expect(traits == before)
    }
}
