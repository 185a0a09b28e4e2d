import FoundationEssentials
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
        let time = Self.timestamp(Date())
        var line: String
        switch format {
        case .text:
            line = "\(time) \(event.level.rawValue) \(event.message)"
            for name in all.keys.sorted() { line += " \(name)=\(all[name].map { "\($0)" } ?? "")" }
            line = line.harmless
        case .json:
            var object: [String: String] = ["time": time, "level": event.level.rawValue, "message": "\(event.message)"]
            for name in all.keys { object[name] = all[name].map { "\($0)" } }
            let data = (try? JSONEncoder.sorted.encode(object)) ?? Data()
            line = String(decoding: data, as: UTF8.self).harmlessJSON
        }
        // Does not wait: this runs on the loop's thread, and a reader of the log that has stopped must not block the
        // daemon.
        StandardStream.error.write(line + "\n", waits: false)
    }

    private static func timestamp(_ date: Date) -> String {
        date.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
    }
}

extension JSONEncoder {
    fileprivate static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }
}
