import Glibc
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// The log of `telltale serve`: lines on standard error, or with `--json` objects on standard output.
final class ServeLog {
    enum Event {
        case serving(_ kind: String, again: Bool)
        case kindRemoved(_ kind: String)
        case disconnected(_ reason: String)
        /// - Parameter again: With a new connection; the action is not performed a second time.
        case asked(ProviderAction, again: Bool)
        /// - Parameter value: As the command printed it.
        case done(ProviderAction, value: Bool?)
        case failed(ProviderAction, _ message: String?)
        /// The command was replaced by another action of the control.
        case replaced(ProviderAction)
    }

    private let isJSON: Bool
    /// Objects dropped because standard output was full.
    private var skippedCount = 0
    /// Called when the reader of standard output has closed its end.
    var onReaderGone: () -> Void = {}

    /// The longest message of an object, in bytes: with it an object fits into what a pipe takes at once.
    private static let messageLimit = 512

    init(json: Bool) { isJSON = json }

    func log(_ event: Event) {
        guard isJSON else {
            if let text = Self.text(of: event) { complain("telltale: \(text)") }
            return
        }
        // A reader that has stopped reading must not hold up the commands.
        var lines = skippedCount > 0 ? "\(["event": "skipped", "count": .integer(Int64(skippedCount))] as JSON)\n" : ""
        lines += Output.shown("\(Self.object(of: event))") + "\n"
        switch StandardStream.output.write(lines, waits: false) {
        case 0: skippedCount = 0
        case EPIPE: onReaderGone()
        case _: skippedCount += 1
        }
    }

    // MARK: For people

    /// `nil` for events that people need not see.
    private static func text(of event: Event) -> String? {
        switch event {
        case .serving(let kind, let again): "serving \(kind)\(again ? " again" : "")"
        case .kindRemoved(let kind): "the daemon has no kind \(kind) any more; waiting for it"
        case .disconnected(let reason): "\(reason); trying again"
        case .done(let action, let value):
            "\(action.key) \(wish(of: action)): done\(value.map { $0 ? " (on)" : " (off)" } ?? "")"
        case .failed(let action, let message):
            "\(action.key) \(wish(of: action)): failed\(message.map { ": \($0)" } ?? "")"
        case .asked, .replaced: nil
        }
    }

    private static func wish(of action: ProviderAction) -> String {
        action.name == "set" ? action.value == true ? "on" : "off" : action.name
    }

    // MARK: For programs

    private static func object(of event: Event) -> JSON {
        var object = JSONObject()
        switch event {
        case .serving(let kind, let again):
            object["event"] = "serving"
            object["kind"] = .string(kind)
            object["again"] = .bool(again)
        case .kindRemoved(let kind):
            object["event"] = "kind_removed"
            object["kind"] = .string(kind)
        case .disconnected(let reason):
            object["event"] = "disconnected"
            object["reason"] = .string(cut(reason))
        case .asked(let action, let again):
            object = beginning("do", action)
            object["action"] = .string(action.name)
            object["reason"] = action.timelineReason.map { .string($0) }
            object["value"] = action.value.map(JSON.bool)
            object["deadline"] = .integer(action.deadline.milliseconds)
            object["again"] = .bool(again)
        case .done(let action, let value):
            object = beginning("done", action)
            if action.name == "set" {
                object["value"] = (value ?? action.value).map(JSON.bool)
                object["assumed"] = .bool(value == nil)
            }
        case .failed(let action, let message):
            object = beginning("failed", action)
            object["message"] = message.map { .string(cut($0)) }
        case .replaced(let action): object = beginning("replaced", action)
        }
        return .object(object)
    }

    private static func beginning(_ event: String, _ action: ProviderAction) -> JSONObject {
        var object = JSONObject()
        object["event"] = .string(event)
        object["key"] = .string(action.key.text)
        object["op"] = .string(action.operation)
        return object
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > messageLimit else { return text }
        var bytes = text.utf8.prefix(messageLimit)
        // Does not cut inside a character.
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes = bytes.dropLast() }
        if let last = bytes.last, last >= 0xC0 { bytes = bytes.dropLast() }
        return String(Substring(bytes))
    }
}
