import Logging
import TelltaleEventLoop
import TelltaleModel

/// Lines on standard error, for people or for programs.
struct Log: LogHandler {
    enum Level: String, CaseIterable, Sendable {
        case debug, info, warning, error

        var level: Logger.Level {
            switch self {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        }
    }

    enum Format: String, Sendable {
        case text, json
    }

    let format: Format
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        let time = Timestamp(milliseconds: EventLoop.wallClockMilliseconds()).internetDate
        var line: String
        switch format {
        case .text:
            line = "\(time) \(event.level.rawValue) \(event.message)"
            for name in all.keys.sorted() { line += " \(name)=\(all[name].map { "\($0)" } ?? "")" }
            line = line.harmless
        case .json:
            var object: JSONObject = [
                "time": .string(time), "level": .string(event.level.rawValue), "message": .string("\(event.message)"),
            ]
            for (name, value) in all { object[name] = .string("\(value)") }
            line = JSON.object(object).description.harmlessJSON
        }
        // Does not wait: this runs on the loop's thread, and a reader of the log that has stopped must not block the
        // daemon.
        StandardStream.error.write(line + "\n", waits: false)
    }
}
