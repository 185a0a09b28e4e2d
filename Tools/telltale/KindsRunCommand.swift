import ArgumentParser
import Foundation
import Glibc
import Kinds
import TelltaleModel
import ToolSupport

/// `telltale kinds run`.
struct KindsRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Try a kind's machine without a daemon.",
        discussion: """
            Reads events from standard input, one a line, with or without the tail that EVT would have, of which the \
            content counts:

                confirm
                ready {"content-state":{"shelf":"B"}}
                after 5m30s

            and prints the initial configuration, then for each line the event, its verdict, and the active states. A line \
            that is none of these is `bad_line`, is told on standard error with its number, and makes the exit status 1.

            With --view a whole activity is run, with its life-cycle, its alerts and its templates, and what the surface \
            shows is drawn after each line; with --json it is the row. `start {"attributes":{...}}` may be the first line.

                telltale kinds run coffee-order.json --view carplay <events.txt

            Of a kind of type widget the lines are timeline, with its tail, reload, end and after. What is shown now and later \
            on a surface (phone, if --view names no other) is told before the first line and after each.

            Widgets that show activities are run together with these: the lines are KEY EVENT, with the words and the tail \
            of EVT, and after. The kind of the activities is sought in --with, else beside the file; a folder runs all of \
            its widgets that show activities.

                telltale kinds run kitchen.json --with kinds <events.txt
                coffee-order/1 confirm {"attributes":{"shop":"Hoegi"}}
                after 5m
            """)

    @Argument(help: "A kind file of type activity or widget, or a folder.") var file: String
    @Option(help: ArgumentHelp("A kind file or folder of what the widgets show.", valueName: "path"))
    var with: [String] = []
    @Flag(help: "Print a JSON object a line.") var json = false
    @Option(help: "Draw what a surface shows, or full.") var view: ViewName?

    func run() throws {
        if KindFiles.isFolder(file) { return try runDerived(nil) }
        let kind = try KindFiles.kind(file)
        if case .widget(let widget) = kind.body { return try draw(kind, widget) }
        guard case .activity(let activity) = kind.body else {
            complain("telltale: \(file): a control has no machine to try")
            throw ExitCode.failure
        }
        if let view { return try draw(kind, activity, view) }
        var trial: MachineTrial
        do {
            trial = try MachineTrial(activity, format: json ? .json : .text)
        } catch {
            complain("telltale: \(file): the machine cannot start: \(error)")
            throw ExitCode.failure
        }
        while true {
            flush(&trial)
            let piece = try read()
            guard !piece.isEmpty else { break }
            trial.feed(piece[...])
        }
        trial.finish()
        flush(&trial)
        if trial.malformedLineCount > 0 { throw ExitCode.failure }
    }

    private func draw(_ kind: Kind, _ activity: ActivityKind, _ view: ViewName) throws {
        let now = Timestamp.ofThisMachine
        guard var trial = ViewTrial(kind, activity, view: view, json: json, width: Output.size.width, at: now) else {
            complain("telltale: \(file): it cannot be tried")
            throw ExitCode.failure
        }
        var input = StandardInputLines()
        while let lines = input.next(limit: 1) {
            for line in lines { show(trial.take(line), &trial) }
        }
        show(trial.finish(), &trial)
        if trial.hasFailed { throw ExitCode.failure }
    }

    private func draw(_ kind: Kind, _ widget: WidgetKind) throws {
        if widget.activityKind != nil { return try runDerived(kind) }
        let now = Timestamp.ofThisMachine
        guard var trial = WidgetTrial(kind, widget, surface: surface, json: json, at: now) else {
            complain("telltale: \(file): no configuration is recommended, and it has parameters; add \"recommended\"")
            throw ExitCode.failure
        }
        show(trial.first(), complaint: nil)
        var input = StandardInputLines()
        while let lines = input.next(limit: 1) {
            for line in lines { show(trial.take(line), complaint: trial.complaint.take()) }
        }
        if trial.hasFailed { throw ExitCode.failure }
    }

    private var surface: Surface { if case .surface(let named)? = view { named } else { .phone } }

    /// Runs widgets that show activities: those of a kind, or all of a folder.
    private func runDerived(_ kind: Kind?) throws {
        let trial: DerivedTrial
        do {
            let kinds = try KindFiles.kinds(file, showing: kind, with: with)
            let shown = kinds.filter { candidate in
                guard case .widget(let widget) = candidate.body, widget.activityKind != nil else { return false }
                return kind == nil || candidate.name == kind?.name
            }
            guard !shown.isEmpty else {
                throw DerivedTrial.Fault(text: "no widget in it shows activities; name one file")
            }
            trial = try DerivedTrial(
                kinds, showing: Set(shown.map(\.name)), surface: surface, json: json, at: .ofThisMachine)
        } catch let fault as DerivedTrial.Fault {
            complain("telltale: \(file): \(fault.text)")
            throw ExitCode.failure
        }
        show(trial.first(), complaint: nil)
        var input = StandardInputLines()
        while let lines = input.next(limit: 1) {
            for line in lines { show(trial.take(line), complaint: trial.complaint.take()) }
        }
        if trial.hasFailed { throw ExitCode.failure }
    }

    private func show(_ lines: [String], _ trial: inout ViewTrial) {
        show(lines, complaint: trial.complaint.take())
    }

    private func show(_ lines: [String], complaint: String?) {
        // Lines of a drawing are harmless, and hold the colours.
        for line in lines {
            let text = json ? Output.shown(line) : line
            Output.write((json ? text : Output.drawable(text)) + "\n")
        }
        if let complaint { complain("telltale: \(complaint)") }
    }

    /// The next piece of the input; empty at its end.
    private func read() throws -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes {
                unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count)
            }
            if count >= 0 { return Array(piece[..<count]) }
            if errno == EINTR { continue }
            let cause = unsafe String(cString: strerror(errno))
            complain("telltale: standard input cannot be read: \(cause)")
            throw ExitCode.failure
        }
    }

    /// Writes the pending output before it waits for more input, so that the other end of a pipe sees each answer
    /// immediately.
    private func flush(_ trial: inout MachineTrial) {
        for complaint in trial.complaints { complain("telltale: \(complaint)") }
        trial.complaints = []
        guard !trial.output.isEmpty else { return }
        // Names, titles and events are text from outside.
        if Output.isTerminal {
            let text = String(decoding: trial.output, as: UTF8.self)
            Output.write(json ? Output.shown(text) : Output.drawable(text.harmlessLines))
        } else {
            Output.write(trial.output)
        }
        trial.output.removeAll(keepingCapacity: true)
    }
}
