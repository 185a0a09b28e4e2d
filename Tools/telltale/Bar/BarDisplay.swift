import Cards
import Console
import Foundation
import Glibc
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// The display of `telltale bar`: a block for each change, and for each second that a timer counts.
final class BarDisplay: WatchDisplay {
    private let format: BarFormat
    private let isOnce: Bool
    private let click: BarFormat.Click
    private let memory: BarMemory?
    private var timer: TimerHandle?
    private var input: StandardInput?
    private var typed: [UInt8] = []
    private var isConnected = false
    private var isLive = false
    private var items: [BarItem] = []
    private var last = ""

    /// Short enough to count seconds on time, long enough to show a burst of changes as one block.
    private static let frameMilliseconds: Int64 = 200

    /// This program, for the commands of clicks.
    static var program: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }

    /// - Parameter memory: Stores the first item for a click that cannot name it.
    init(_ format: BarFormat, isOnce: Bool, click: BarFormat.Click, memory: BarMemory?) {
        (self.format, self.isOnce, self.click, self.memory) = (format, isOnce, click, memory)
    }

    var showsTitles: Bool { true }

    func start(on loop: EventLoop, watch: Watch) throws(UVError) {
        guard !isOnce else { return }
        timer = try TimerHandle(on: loop) { [unowned self, unowned watch] _ in draw(watch) }
        timer?.scheduleRepeating(everyMilliseconds: Self.frameMilliseconds)
        // i3blocks writes clicks to standard input.
        guard format == .i3blocks, isatty(STDIN_FILENO) == 0 else { return }
        input = try StandardInput(on: loop) { [unowned self] bytes in clicked(bytes) }
    }

    func end() {
        timer = nil
        input = nil
        if !isOnce { memory?.forget() }
    }

    func connected(_ greeting: ServerGreeting) { isConnected = true }

    func disconnected(_ reason: String, retryAfter: Milliseconds?) {
        isConnected = false
        write()
    }

    func show(_ event: SubscriptionEvent, watch: Watch) {
        guard case .live = event else { return }
        isLive = true
        draw(watch)
        performClicks()
    }

    private func draw(_ watch: Watch) {
        guard isLive, isConnected else { return }
        let cards = watch.rows.map { Card(key: $0.key.text, body: $0.body, rev: $0.rev) }
        items = BarItem.items(cards, titles: watch.titles, at: watch.now)
        // Before the block is shown, so that no click comes first.
        memory?.remember(items.first)
        write()
    }

    private func write() {
        let block = format.block(items, isConnected: isConnected, once: isOnce, click: click)
        guard block != last else { return }
        last = block
        Output.write(block)
    }

    // MARK: Clicks

    private func clicked(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        typed += bytes
        // Lines of i3blocks are short.
        if typed.count > 65_536 { typed = [] }
        performClicks()
        input?.readOn()
    }

    /// A click is for the item shown, so none is performed before there is one.
    private func performClicks() {
        while isLive, let end = typed.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(typed[..<end])
            typed.removeFirst(end + 1)
            if (try? JSONParser().parse(line.span))?["button"]?.integer == 1 { runClick() }
        }
    }

    private func runClick() {
        guard let words = items.first.flatMap({ click.command(for: $0) }) else { return }
        let process = Process()
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.standardInput = FileHandle.nullDevice
        // Standard output belongs to the bar.
        process.standardOutput = FileHandle.nullDevice
        do { try process.run() } catch { complain("telltale: \(error.localizedDescription)".harmless) }
    }
}
