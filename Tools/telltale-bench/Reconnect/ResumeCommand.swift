import ArgumentParser
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench resume`: the cost of a reconnect that missed little, beside one that starts anew.
struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "What a resume costs that missed little, beside starting anew.",
        discussion: """
            Screens that follow everything lose their connections, miss --changed events about as many of the --keys, \
            and come back one after the other: with their cursors, and then as if for the first time.
            """)

    @Option(help: "Live activities.") var keys = 100_000
    @Option(help: "Events that are missed.") var changed = 100
    @Option(help: "Screens.") var subscribers = 3
    @Option(help: "Repetitions.") var rounds = 3
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-resume"
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard (1...1_000_000).contains(keys), changed >= 0, (1...100).contains(subscribers), rounds > 0 else {
            throw ValidationError("keys: 1 to 1000000; subscribers: 1 to 100; rounds: above 0")
        }
    }

    func run() throws {
        Processors.takeLoadProcessor()
        DescriptorLimit.raiseToMaximum()
        let settings = TelltaleScreens.Settings()
        let reconnection = try Reconnection(
            TelltaleScreens(settings, data: data), .init(subscribers: subscribers, keys: keys, each: keys),
            view: settings.view
        ) { _ in ["tally/*"] }
        var report = JSONObject()
        var isCurrent = true
        for resumes in [true, false] {
            var times = Sample()
            var processor = Sample()
            for _ in 0..<rounds {
                let result = try reconnection.run(changed: changed, atOnce: 1, resumes: resumes)
                times.values.append(result.seconds / Double(subscribers) * 1e3)
                processor.values.append(result.processorTime / Double(subscribers) / 1e6)
                isCurrent = isCurrent && result.currentCount == subscribers
            }
            var entry = JSONObject()
            entry["ms"] = times.json
            entry["server_cpu_ms"] = processor.json
            report[resumes ? "resume" : "anew"] = .object(entry)
            if !json {
                print(
                    "\(resumes ? "resume, \(changed) of \(keys) missed" : "anew, all \(keys)"): \(times.text(2)) ms, "
                        + "server CPU \(processor.text(2)) ms")
            }
        }
        report["all_current"] = .bool(isCurrent)
        if json { print(JSON.object(report)) }
        if !isCurrent {
            StandardStream.error.write("somebody was not up to date\n")
            throw ExitCode.failure
        }
    }
}
