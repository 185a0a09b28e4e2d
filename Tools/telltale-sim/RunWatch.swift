import Cards
import Foundation
import Simulation
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// The picture of a run on a terminal, and the keys that pause, step, speed up and end the run.
final class RunWatch {
    enum ConnectionCommand {
        case pause, step, faster, slower, quit
    }

    private let scenario: Scenario
    private let keyboard = Keyboard()
    private var painter = Painter()
    private var drawnAt: Int64 = 0
    private var drawnSize: (width: Int, height: Int) = (0, 0)
    private var isOpen = true

    static let frameMilliseconds: Int64 = 100
    static let speeds: [Double] = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200]

    init(_ scenario: Scenario) {
        self.scenario = scenario
        Output.write(Painter.begin)
    }

    deinit { close() }

    /// Gives the terminal back.
    func close() {
        guard isOpen else { return }
        isOpen = false
        keyboard.close()
    }

    /// The command of the next key that is pressed within so many milliseconds.
    func wish(within milliseconds: Int64) -> ConnectionCommand? {
        switch keyboard.key(within: milliseconds) {
        case " ": return .pause
        case "s", "n", "\n", "\r": return .step
        case "+", "=": return .faster
        case "-", "_": return .slower
        case "q", "\u{3}", "\u{4}": return .quit
        case "\u{1A}":
            TerminalMode.suspend()
            return nil
        case _: return nil
        }
    }

    /// Takes the screen again after ctrl-Z.
    ///
    /// - Returns: Whether the process was stopped since the last call.
    func comesBack() -> Bool {
        guard isOpen, TerminalMode.takeComeback() else { return false }
        Output.write(Painter.begin + painter.forget())
        drawnAt = 0
        return true
    }

    static func speed(_ speed: Double, after wish: ConnectionCommand) -> Double {
        switch wish {
        case .faster: speeds.first { $0 > speed } ?? speed
        case .slower: speeds.last { $0 < speed } ?? speed
        case .pause, .step, .quit: speed
        }
    }

    /// Draws, unless it did just now.
    func show(_ glimpse: Glimpse, speed: Double, isPaused: Bool, always: Bool = false) {
        let now = EventLoop.monotonicMilliseconds()
        guard always || now - drawnAt >= Self.frameMilliseconds else { return }
        drawnAt = now
        let size = Output.size
        if size != drawnSize { Output.write(painter.forget()) }
        drawnSize = size
        let wall = ScenarioWall(
            title: scenario.title, caption: glimpse.caption,
            displays: glimpse.displays(limit: 6) { ScenarioWall.Display.cardLimit($0) }.map { display in
                ScenarioWall.Display(
                    display.view, label: display.name, cards: display.rows.map { Card(key: $0.key, body: $0.body) },
                    isAway: display.isAway)
            },
            progress: glimpse.progress, progressText: text(glimpse, speed: speed, isPaused: isPaused),
            foot: "space pauses, s steps, + and - change the speed, q quits")
        let block = wall.draw(
            at: Timestamp(milliseconds: glimpse.daemonTime), width: size.width, height: size.height)
        Output.paint(block, with: &painter)
    }

    private func text(_ glimpse: Glimpse, speed: Double, isPaused: Bool) -> String {
        let seconds = glimpse.time / 1_000
        let time = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
        let pace = isPaused ? "paused" : speed.isInfinite ? "at full speed" : "at \(speed.formatted()) ×"
        let state = glimpse.isCalm ? ", coming to rest" : ""
        return "\(Int(glimpse.progress * 100)) %  \(time)  \(pace)  \(glimpse.inputs) inputs\(state)"
    }
}

/// Slows a world in process down to the speed at which it is watched.
final class RunPacer {
    let watch: RunWatch
    private(set) var speed: Double
    private(set) var isPaused = false
    private(set) var hasQuit = false
    private var begunAt = EventLoop.monotonicMilliseconds()
    private var base: Int64 = 0
    private var steps = 0

    init(_ watch: RunWatch, speed: Double) {
        self.watch = watch
        self.speed = speed
    }

    /// Waits until the next event is due.
    ///
    /// - Returns: Whether the run goes on.
    func mayGoOn(_ glimpse: Glimpse) -> Bool {
        while !hasQuit {
            // The time for which the process was stopped is not caught up.
            if watch.comesBack() { rebase(at: glimpse.time) }
            watch.show(glimpse, speed: speed, isPaused: isPaused)
            let wait = wait(until: glimpse)
            if let wish = watch.wish(within: wait) {
                follow(wish, at: glimpse.time)
                watch.show(glimpse, speed: speed, isPaused: isPaused, always: true)
                continue
            }
            if steps > 0 {
                steps -= 1
                return true
            }
            if !isPaused, self.wait(until: glimpse) == 0 { return true }
        }
        return false
    }

    private func wait(until glimpse: Glimpse) -> Int64 {
        if steps > 0 { return 0 }
        if isPaused { return RunWatch.frameMilliseconds }
        // The final checks run without waiting.
        if speed.isInfinite || glimpse.isCalm {
            rebase(at: glimpse.time)
            return 0
        }
        let due = begunAt + Int64(Double(glimpse.time - base) / speed)
        return max(0, min(RunWatch.frameMilliseconds, due - EventLoop.monotonicMilliseconds()))
    }

    private func follow(_ wish: RunWatch.ConnectionCommand, at time: Int64) {
        switch wish {
        case .pause: isPaused.toggle()
        case .step:
            isPaused = true
            steps += 1
        case .faster, .slower: speed = RunWatch.speed(speed, after: wish)
        case .quit: hasQuit = true
        }
        rebase(at: time)
    }

    private func rebase(at time: Int64) {
        base = time
        begunAt = EventLoop.monotonicMilliseconds()
    }
}
