import ArgumentParser
import Foundation
import Histogram
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench fanout`: the cost and the latency of showing one event to many subscribers.
struct FanOutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout", abstract: "What a delivery costs the server, and when it arrives.",
        discussion: """
            Starts a daemon on a free port. Each key is an activity whose state changes with every event; each \
            subscriber follows --per of the --keys, by turns, and so each event reaches subscribers * per / keys of \
            them. A delivery is one event reaching one subscriber.

              telltale-bench fanout --subscribers 1000                    one key, everybody follows it
              telltale-bench fanout --keys 10000 --subscribers 1000 --per 10

            With --rate, events have intended times that wait for nobody, and latency runs from the intended time to \
            the arrival at the subscriber, whatever held it up (no coordinated omission). With --rate max, --window \
            events are on their way at any time, and latency runs from sending.

            The server has one processor, the load another. CPU is the server's, user and system together. Deliveries \
            that were folded into a later one of the same key are not counted as delivered; more than 1% of them, and \
            the run does not tell the cost at that rate (exit status 1).

            --journal memory keeps no journal on disk; off, normal and full are telltaled's --sync.
            """)

    @Option(help: "Connections that follow something.") var subscribers = 1_000
    @Option(help: "Live activities that the events are about.") var keys = 1
    @Option(help: "Keys that each subscriber follows.") var per = 1
    @Option(help: "Events a second, or max.") var rate = "1000"
    @Option(help: "Events on their way with --rate max.") var window = 64
    @Option(help: "Bytes of a row's JSON.") var bytes = 200
    @Option(help: "full, or a surface.") var view = "carplay"
    @Option(help: "memory, off, normal or full.") var journal = "memory"
    @Option(help: "telltaled's --pace: auto, or milliseconds between two flushes while busy.")
    var pace = PaceArgument.auto
    @Option(help: "Seconds to measure.") var seconds = 5.0
    @Option(help: "Seconds before that.") var warmUp = 1.0
    @Option(help: "Measurements, over the same connections.") var rounds = 1
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-fanout"
    @Flag(help: "Measures a second daemon over TLS too, by turns, and compares. Exit status 1 above 1.35 times.")
    var tls = false
    @Flag(help: "Print one JSON object.") var json = false

    var shape: FanOutLoad.Shape { FanOutLoad.Shape(subscribers: subscribers, keys: keys, each: per) }

    func validate() throws {
        guard shape.isEven, keys <= 1_000_000 else {
            throw ValidationError(
                "subscribers * per must be a multiple of keys, and per at most keys, so that each key has as many followers"
            )
        }
        guard rate == "max" || Double(rate).map({ $0 > 0 && $0 <= 10_000_000 }) == true else {
            throw ValidationError("--rate takes events a second, or max")
        }
        guard ["memory", "off", "normal", "full"].contains(journal) else {
            throw ValidationError("--journal takes memory, off, normal or full")
        }
        guard bytes <= 4_000, window > 0, rounds > 0, (0.1...3_600).contains(seconds),
            (0...3_600).contains(warmUp)
        else { throw ValidationError("numbers must be above 0, bytes at most 4000, seconds at most 3600") }
    }

    func run() throws {
        Processors.takeLoadProcessor()
        DescriptorLimit.raiseToMaximum()
        var settings = TelltaleScreens.Settings()
        (settings.journal, settings.pace, settings.view, settings.bytes) = (journal, pace, view, bytes)
        let plain = try TelltaleScreens(settings, data: data)
        var sides = [(label: "telltale", target: plain, load: try plain.makeLoad(shape), costs: Sample())]
        if tls {
            settings.isEncrypted = true
            let encrypted = try TelltaleScreens(settings, data: data + "-tls")
            sides.append(("over TLS", encrypted, try encrypted.makeLoad(shape), Sample()))
        }
        let plan = FanOutPlan(
            rate: rate == "max" ? nil : Double(rate), window: window, warmUpSeconds: warmUp, seconds: seconds)
        var isVoid = false
        var all: [JSON] = []
        for _ in 0..<rounds {
            for index in sides.indices {
                let side = sides[index]
                let result = try side.load.measure(
                    plan, on: side.target.process, label: side.label, progress: Progress())
                isVoid = isVoid || result.voidReason != nil
                sides[index].costs.values.append(result.nanosecondsPerDelivery)
                var object = result.json
                if tls { object["tls"] = .bool(side.target.tlsPort != nil) }
                all.append(.object(object))
                if !json { printResult(result, tls ? "\(side.label): " : "") }
            }
        }
        let ratio = tls ? sides[1].costs.median / max(1, sides[0].costs.median) : 1
        if tls, !json {
            print("over TLS a delivery costs \(String(format: "%.2f", ratio)) times as much; the limit, 1.35")
        }
        if json {
            var report = JSONObject()
            report["subscribers"] = .integer(Int64(subscribers))
            report["keys"] = .integer(Int64(keys))
            report["per"] = .integer(Int64(per))
            if tls { report["tls_cost_ratio"] = JSON((ratio * 1_000).rounded() / 1_000) }
            report["rounds"] = .array(all)
            print(JSON.object(report))
        }
        if isVoid || ratio > Self.tlsLimit { throw ExitCode.failure }
    }

    /// How many times as much a delivery over TLS may cost.
    private static let tlsLimit = 1.35

    private func printResult(_ result: FanOutResult, _ label: String) {
        func milliseconds(_ nanoseconds: UInt64) -> String { String(format: "%.2f", Double(nanoseconds) / 1e6) }
        let percentiles = FanOutResult.percentiles.map {
            "\($0.0) \(milliseconds(result.latency.valueAtPercentile($0.1)))"
        }.joined(separator: ", ")
        let trouble = [
            result.lost > 0 ? "\(result.lost) LOST" : nil, result.cut > 0 ? "\(result.cut) CUT" : nil,
            result.voidReason.map { "VOID: \($0)" },
        ].compactMap(\.self).map { ", " + $0 }.joined()
        print(
            """
            \(label)\(subscribers) subscribers, \(keys) key\(keys == 1 ? "" : "s"): \(Int(result.eventsPerSecond)) events/s, \
            \(Int(result.deliveriesPerSecond)) deliveries/s of \(Int(result.bytesPerDelivery)) bytes, \
            \(String(format: "%.2f", result.foldedShare * 100))% folded\(trouble)
              server CPU \(Int(result.nanosecondsPerDelivery)) ns a delivery, \(Int(result.nanosecondsPerEvent)) ns an \
            event, \(Int(result.processorTime / result.seconds / 1e7))% busy; the load \
            \(Int(result.loadProcessorTime / max(1, result.deliveries))) ns a delivery
              \(percentiles), longest \(milliseconds(result.latency.max)) ms
            """)
    }
}
