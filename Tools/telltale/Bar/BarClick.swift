import ArgumentParser
import Cards
import Foundation
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

/// Performs a click on an item of a bar.
struct BarClick {
    let selection: BarSelection
    let opener: String

    static let usualOpener = "xdg-open"

    /// - Parameter shown: The clicked item; `nil` = the present first item.
    /// - Throws: An exit code; the reason was printed on standard error.
    func perform(_ pattern: TelltaleModel.Pattern, shown: BarMemory.Item?) throws {
        let item = try shown ?? first(of: pattern)
        switch item.action {
        case nil: throw ExitCode.failed("a click on \(item.key) does nothing now".harmless)
        case .open?: try open(item.url ?? "")
        case .press?:
            _ = try selection.daemon.ask(.tap(TapCommand(item.key, .press)), account: selection.who.account)
        case .set(let value)?:
            // Nothing happens unless the clicked row is still the current one.
            let command = TapCommand(item.key, .set(value), seenRev: item.rev)
            _ = try selection.daemon.ask(.tap(command), account: selection.who.account)
        }
    }

    private func first(of pattern: TelltaleModel.Pattern) throws -> BarMemory.Item {
        let items = try selection.daemon.withClient(account: selection.who.account) {
            (client) throws(ClientFailure) in
            var cards: [Card] = []
            _ = try client.answer(to: .list(pattern, view: selection.view)) { line in
                cards.append(Card(key: line["key"] ?? "", body: line.tail ?? JSONObject(), rev: line.integer("rev")))
            }
            return BarItem.items(cards, titles: KindTitles(), at: client.now)
        }
        guard let item = items.first, let key = Key(item.key) else {
            throw ExitCode.failed("there is nothing to click".harmless)
        }
        return BarMemory.Item(key: key, action: item.action, rev: item.rev, url: item.url)
    }

    /// The link goes to the program as one argument.
    private func open(_ url: String) throws {
        guard BarItem.mayBeOpened(url) else { throw ExitCode.failed("the link is not one to open: \(url)".harmless) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [opener, url]
        do {
            try process.run()
        } catch {
            throw ExitCode.failed("\(opener): \(error.localizedDescription)".harmless)
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ExitCode.failed("\(opener) ended with \(process.terminationStatus)".harmless)
        }
    }
}
