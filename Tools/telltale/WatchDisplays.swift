import Cards
import Console
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// `--json` and `--format`: one object a change, printed as JSON or through a template.
final class ObjectDisplay: WatchDisplay {
    private let format: RowFormat?

    /// - Parameter format: `nil` for JSON, which includes connection events.
    init(format: RowFormat? = nil) { self.format = format }

    func start(on loop: EventLoop, watch: Watch) {}
    func end() {}

    func connected(_ greeting: ServerGreeting) {
        if format == nil { print(["event": "connected", "epoch": .string(greeting.epoch)]) }
    }

    func disconnected(_ reason: String, retryAfter: Milliseconds?) {
        guard format == nil else { return complain("telltale: \(reason.harmless)") }
        print(["event": "disconnected", "reason": .string(reason)])
    }

    func show(_ event: SubscriptionEvent, watch: Watch) {
        switch event {
        case .snapshot(let row): print("snapshot", row)
        case .update(let row): print("update", row)
        case .deletion(let key, let rev, let why):
            print(["event": "deletion", "key": .string(key.text), "rev": .integer(rev), "why": .string(why)])
        case .milestone(let key, let rev, let state, let time):
            print([
                "event": "milestone", "key": .string(key.text), "rev": .integer(rev), "state": .string(state),
                "at": .integer(time.milliseconds),
            ])
        case .alert(let key, let rev, let body):
            print(["event": "alert", "key": .string(key.text), "rev": .integer(rev), "alert": .object(body)])
        // This display does not subscribe to notices.
        case .changed: break
        case .live: if format == nil { print(["event": "live"]) }
        case .reset(let why): if format == nil { print(["event": "reset", "why": .string(why)]) }
        case .refused: break
        }
    }

    private func print(_ event: String, _ row: Row) {
        var object: JSON = [
            "event": .string(event), "key": .string(row.key.text), "rev": .integer(row.rev), "row": .object(row.body),
        ]
        if row.skip > 0, var changed = object.object {
            changed["skip"] = .integer(Int64(row.skip))
            changed["why"] = row.why.map(JSON.string)
            object = .object(changed)
        }
        print(object)
    }

    private func print(_ object: JSON) {
        guard let format else { return Output.json(object) }
        Output.write(Output.drawable(format.filled(with: object)) + "\n")
    }
}

/// Into a pipe: one line a change, for people and grep.
final class LineDisplay: WatchDisplay {
    func start(on loop: EventLoop, watch: Watch) {}
    func end() {}
    func connected(_ greeting: ServerGreeting) {}

    func disconnected(_ reason: String, retryAfter: Milliseconds?) {
        complain("telltale: \(reason.harmless)\(retryAfter == nil ? "" : "; trying again")")
    }

    func show(_ event: SubscriptionEvent, watch: Watch) {
        switch event {
        case .snapshot(let row), .update(let row):
            let card = Card(key: row.key.text, body: row.body)
            let skipped = row.skip > 0 ? " skip=\(row.skip)" : ""
            line("\(row.key) rev=\(row.rev)\(skipped) \(card.summary(at: watch.now))")
        case .deletion(let key, let rev, let why): line("\(key) rev=\(rev) gone: \(why)")
        case .milestone(let key, let rev, let state, _): line("\(key) rev=\(rev) milestone: \(state)")
        case .alert(let key, let rev, let body):
            line("\(key) rev=\(rev) alert: \(body["title"]?.string ?? "") \(body["body"]?.string ?? "")")
        case .changed, .live, .reset, .refused: break
        }
    }

    /// Prints one line, even if the text of an alert has several.
    private func line(_ text: String) { Output.text(text.harmless) }
}
