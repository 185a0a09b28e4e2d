internal import ArgumentParser
internal import Surfaces
internal import TelltaleModel
import ToolSupport

/// `telltale surfaces`: the screens and sizes that the server knows. Needs no daemon.
struct SurfacesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "surfaces", abstract: "The surfaces, their sizes, and the devices that HELLO device= may name.")

    @Flag(help: "Everything, as one JSON object.") var json = false

    func run() {
        if json { return Output.json(Catalogue.value) }
        Output.text("Surfaces, for surface= and view=\n")
        for surface in Surface.allCases {
            let areas = Catalogue.areas.filter { $0.place == surface.rawValue || Self.isIsland($0, of: surface) }
            Output.text("  \(surface.rawValue)")
            for area in areas {
                let screen = area.screen.map { "  on \($0)" } ?? ""
                Output.text("    \(area.presentation.rawValue.padded(to: 12)) \(Self.text(area.extent))\(screen)")
            }
        }
        Output.text("\nDevices, for device=\n")
        for device in Catalogue.devices {
            let island = device.hasIsland ? "  Dynamic Island" : ""
            Output.text(
                "  \(device.name.padded(to: 20)) \(device.surface.rawValue.padded(to: 8)) \(device.canvas)\(island)")
        }
        Output.text("\nMeasures\n")
        for measure in Catalogue.measures {
            Output.text("  \(measure.name.padded(to: 28)) \(JSON(measure.value)) \(measure.unit)")
        }
    }

    private static func isIsland(_ area: Catalogue.Area, of surface: Surface) -> Bool {
        surface == .phone && area.place == "island"
    }

    private static func text(_ extent: Catalogue.Extent) -> String {
        func length(_ range: ClosedRange<Double>) -> String {
            let (low, high) = (JSON(range.lowerBound), JSON(range.upperBound))
            return low == high ? "\(low)" : "\(low)-\(high)"
        }
        return "\(length(extent.width)) x \(length(extent.height)) pt"
    }
}
