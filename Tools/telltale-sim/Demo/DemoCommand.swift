package import ArgumentParser
import Foundation
import Recordings
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// The part of `Tools/demo` that runs beside its daemon.
package struct DemoCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Replays orders and flights, and shows a car, a watch and a desktop side by side.",
        discussion: """
            The daemon should be a new one that knows the kinds parcel, flight and porch-light, and for the \
            widget in the car and on the watch the kind dispatch. In a checkout, Tools/demo \
            starts one. Elsewhere, `telltale-sim unpack DIR` writes the kind files, and `telltaled --data DIR/data --kinds \
            DIR/kinds --clock-speed 2400` is such a daemon. \
            Each case keeps its own order of events; how fast they come is the demo's. In the end every case is \
            compared with what the data says became of it, on the server and on each of the three screens. Exit code 1 \
            tells a difference.
            """)

    @Option(help: ArgumentHelp("A folder of CSV files; default: those that ship.", valueName: "DIR"))
    var data: String?
    @Option(
        help: ArgumentHelp("The kind files that the daemon has loaded; default: those that ship.", valueName: "DIR"))
    var kinds: String?
    @Option(help: ArgumentHelp("How long it shall take. Default: 75 on a terminal, else 12.", valueName: "N"))
    var seconds: Int64?
    @Option(
        help: ArgumentHelp(
            "In the middle, kills the leader of the cluster that --connect names: DIR has a file NODE.pid for each node, as Tools/cluster --data DIR writes them.",
            valueName: "DIR"))
    var killLeader: String?
    @Flag(help: "Plain lines, on a terminal too.")
    var plain = false
    @OptionGroup var daemon: DaemonLinkOptions

    package init() {}

    package func validate() throws {
        if let seconds, !(1...3600).contains(seconds) { throw ValidationError("--seconds takes 1 to 3600") }
    }

    package func run() throws {
        let link = try daemon.link
        let isDrawn = Output.canDraw && !plain
        let span = Milliseconds.seconds(seconds ?? (isDrawn ? 75 : 12))
        let orders: DemoTrace
        let flights: DemoTrace
        let titles: StateTitles
        do {
            orders = try DemoTrace("olist_orders_500.csv", in: data, kind: "parcel", slowed: 3, over: span)
            flights = try DemoTrace("nycflights13_500.csv", in: data, kind: "flight", slowed: 18, over: span)
            titles = try StateTitles(folder: kinds, kinds: ["parcel", "flight"])
        } catch let error as DemoFault {
            complain(error.description)
            throw ExitCode.failure
        }
        let demo = try Demo(
            orders: orders, flights: flights, titles: titles, span: span, link: link, isDrawn: isDrawn,
            killing: killLeader)
        switch try demo.run() {
        case .agreed: return
        case .disagreed: throw ExitCode.failure
        case .interrupted: throw ExitCode(130)
        case .noDaemon(let reason): throw ExitCode.absent(at: link, reason)
        case .failed(let reason):
            complain(reason)
            throw ExitCode.failure
        }
    }
}

/// Something that the demo needs is not there, or not as it should be.
struct DemoFault: Error, CustomStringConvertible {
    let description: String
}

extension ShippedFiles {
    /// A file of a user's folder, or the one that ships.
    fileprivate static func file(_ name: String, in folder: String?, shippedIn part: String) throws -> [UInt8] {
        guard let folder else { return bytes(of: "\(part)/\(name)") ?? [] }
        do throws(NamedFile.Failure) {
            return try NamedFile.read("\(folder)/\(name)")
        } catch {
            throw DemoFault(description: error.description)
        }
    }
}

/// One of the demo's files, paced.
struct DemoTrace {
    let plan: ReplayPlan
    /// When the events happened, in the source's calendar.
    let dates: [String: Timestamp]

    init(_ name: String, in folder: String?, kind: String, slowed factor: Int64, over span: Milliseconds) throws {
        let bytes = try ShippedFiles.file(name, in: folder, shippedIn: "scenarios/data")
        let original: ReplayPlan
        do {
            original = try ReplayPlan(Trace(csv: bytes), kind: kind)
        } catch {
            throw DemoFault(description: "\(folder ?? "inside")/\(name): \(error)")
        }
        plan = original.slowed(by: factor).paced(over: span)
        var dates: [String: Timestamp] = [:]
        for post in original.posts { dates[post.command.eid ?? ""] = original.start + post.due }
        self.dates = dates
    }
}

/// The titles under which screens show the states of the demo's kinds, by their own files.
struct StateTitles {
    private var titles: [String: String] = [:]

    init(folder: String?, kinds: [String]) throws {
        for kind in kinds {
            let bytes = try ShippedFiles.file("\(kind).json", in: folder, shippedIn: "kinds")
            guard let states = (try? JSONParser().parse(bytes.span))?["machine"]?["states"]?.object else {
                throw DemoFault(description: "\(folder ?? "inside")/\(kind).json: no kind file with a machine")
            }
            for state in states {
                titles["\(kind).\(state.name)"] = state.value["title"]?.string ?? state.name
            }
        }
    }

    func title(of state: String, kind: Substring) -> String { titles["\(kind).\(state)"] ?? state }
}
