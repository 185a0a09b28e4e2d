internal import ArgumentParser
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// `telltale-bench projection`: the cost of placing the activities of one device anew.
struct ProjectionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "projection", abstract: "The cost of projecting a device's activities onto its surface.")

    @Option(help: "Visible activities.") var activities = 10
    @Option(help: "Apps that they belong to.") var apps = 4
    @Option(help: "Projections a surface.") var rounds = 200_000
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard activities > 0, apps > 0, rounds > 0 else {
            throw ValidationError("activities, apps and rounds must be above 0")
        }
    }

    func run() {
        let visible = (0..<activities).map { index in
            VisibleActivity(
                index: Int32(clamping: index), app: Int32(clamping: index % apps),
                lifecycle: index % 5 == 4 ? .ended : .active, score: Double(index * 7 % 4),
                startedAt: Timestamp(milliseconds: Int64(index * 31 % 17)),
                lastAlertAt: index % 3 == 0 ? Timestamp(milliseconds: Int64(index)) : nil,
                hasSmallFamily: index % 2 == 0)
        }
        var results = JSONObject()
        let clock = ContinuousClock()
        for surface in Surface.allCases {
            var traits = Traits()
            var shown = 0
            // The quickest of some slices, in which no other process used the processor.
            let slice = max(1, rounds / 20)
            var quickest = Duration.seconds(3600)
            for _ in 0..<20 {
                let time = clock.measure {
                    for round in 0..<slice {
                        // Something differs each time, so that nothing can be computed once for all.
                        traits.isWristDown = round & 1 == 0
                        let placements = Projection.project(
                            surface: surface, traits: traits, activities: visible, competing: true)
                        shown &+= placements.reduce(0) { $0 &+ Int($1.order) }
                    }
                }
                quickest = min(quickest, time)
            }
            let nanoseconds = quickest / .nanoseconds(1) / Double(slice)
            results[surface.rawValue] = JSON(nanoseconds.rounded())
            if !json {
                print("\(surface.rawValue): \(Int(nanoseconds)) ns for \(activities) activities (sum \(shown))")
            }
        }
        if json { print(JSON.object(results)) }
    }
}
