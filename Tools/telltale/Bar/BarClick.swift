import ArgumentParser
import Cards
import Foundation
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// A click on an item of a bar.
struct BarClick {
    let selection: BarSelection
    let opener: String

    static let usualOpener = "xdg-open"

    /// - Throws: An exit code; the reason was told on standard error.
    func perform(_ pattern: TelltaleModel.Pattern) throws {
        let rows = CollectingDisplay()
        try selection.watch(pattern, on: rows, endsWhenLive: true, isPatient: false).run()
        guard let item = BarItem.items(rows.cards, at: rows.now).first, let key = Key(item.key) else {
            throw refusal("there is nothing to click")
        }
        switch item.action {
        case nil: throw refusal("a click on \(key) does nothing now")
        case .open?: try open(item.url ?? "")
        case .press?: _ = try selection.daemon.ask(.press(key, eid: nil), account: selection.who.account)
        case .set(let value)?:
            var command = TelltaleWire.SetCommand(key: key, value: value)
            // The row that the click was for is still the current one, or nothing happens.
            command.seenRev = rows.revs[item.key]
            _ = try selection.daemon.ask(.set(command), account: selection.who.account)
        }
    }

    /// A link is a kind author's text: it goes to a program as one argument, and names neither a file nor a script.
    private func open(_ url: String) throws {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme.count < url.count, scheme.first?.isLetter == true,
            scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+.-".contains($0)) }),
            !["file", "javascript", "data", "vbscript"].contains(scheme)
        else { throw refusal("the link is not one to open: \(url)") }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [opener, url]
        do {
            try process.run()
        } catch {
            throw refusal("\(opener): \(error.localizedDescription)")
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw refusal("\(opener) ended with \(process.terminationStatus)")
        }
    }

    private func refusal(_ reason: String) -> ExitCode {
        complain("telltale: \(reason)".harmless)
        return .failure
    }
}

/// Keeps the rows that there are.
private final class CollectingDisplay: WatchDisplay {
    private(set) var cards: [Card] = []
    private(set) var revs: [String: Int64] = [:]
    private(set) var now = Timestamp(milliseconds: 0)

    func start(on loop: EventLoop, watch: Watch) {}
    func end() {}
    func connected(_ greeting: ServerGreeting) {}
    func disconnected(_ reason: String, retryAfter: Milliseconds?) {}

    func show(_ event: SubscriptionEvent, watch: Watch) {
        now = watch.now
        guard case .snapshot(let row) = event else { return }
        cards.append(Card(key: row.key.text, body: row.body))
        revs[row.key.text] = row.rev
    }
}
