internal import Glibc
public import Logging
internal import TelltaleModel

/// Writes log lines to standard error: text for people, or one JSON object a line.
public struct StandardErrorLog: LogHandler {
    public enum Format: String, Sendable, CaseIterable {
        case text, json
    }

    public var logLevel = Logger.Level.info
    public var metadata = Logger.Metadata()
    private let format: Format
    /// Whether lines begin with `<N>`, which systemd's journal takes for their priority.
    private let hasPriorities: Bool

    public init(_ format: Format, level: Logger.Level, hasPriorities: Bool) {
        self.format = format
        self.hasPriorities = hasPriorities
        logLevel = level
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var members = metadata
        for (name, value) in event.metadata ?? [:] { members[name] = value }
        write(event.level, event.message.description, members)
    }

    private func write(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) {
        var line = hasPriorities ? Array("<\(Self.priority(level))>".utf8) : []
        line += Self.line(format, SystemClock.now, level, message, metadata)
        line.append(0x0A)
        // One write for each line, so that lines of several threads do not mix. A failed write is ignored.
        _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Without its line ending. No external text can start another line.
    static func line(
        _ format: Format, _ time: Timestamp, _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata
    ) -> [UInt8] {
        let names = metadata.keys.sorted()
        switch format {
        case .json:
            return JSONWriter.object { writer in
                writer.member("ts", time.internetDate)
                writer.member("level", level.rawValue)
                writer.member("msg", message)
                for name in names {
                    let text = metadata[name]?.description ?? ""
                    let number = name == "status" || name == "ms" ? Double(text).map { JSON(finite: $0) } : nil
                    writer.member(named: name, number ?? .string(text))
                }
            }
        case .text:
            var text = "\(time.internetDate) \(level.rawValue) \(message)"
            for name in names { text += " \(name)=\(metadata[name]?.description ?? "")" }
            return text.utf8.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
        }
    }

    private static func priority(_ level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

extension JSON {
    init(finite number: Double) { self = number.isFinite ? JSON(number) : .null }
}
