import ArgumentParser
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
        let now = Timestamp.ofThisMachine
        switch (kind.body, view) {
        case (.widget(let widget), _):
            if widget.activityKind != nil { return try runDerived(kind) }
            guard let preview = WidgetPreview(kind, widget, surface: surface, json: json, at: now) else {
                throw fault("no configuration is recommended, and it has parameters; add \"recommended\"")
            }
            try run(preview)
        case (.activity(let activity), let view?):
            guard
                let preview = ViewPreview(kind, activity, view: view, json: json, width: Output.size.width, at: now)
            else { throw fault("it cannot be tried") }
            try run(preview)
        case (.activity(let activity), nil): try run(activity)
        case (.toggle, _), (.button, _): throw fault("a control has no machine to try")
        }
    }

    private func fault(_ text: String) -> ExitCode { .failed("\(file): \(text)") }

    private var surface: Surface { if case .surface(let named)? = view { named } else { .phone } }

    /// Runs the machine alone.
    private func run(_ activity: ActivityKind) throws {
        var preview: MachinePreview
        do {
            preview = try MachinePreview(activity, format: json ? .json : .text)
        } catch {
            throw fault("the machine cannot start: \(error)")
        }
        func show(_ text: String) {
            // Names and events are text from outside, and a program gets them as they are.
            if !json, Output.isTerminal { Output.text(text) } else { Output.line(text) }
        }
        var isMalformed = false
        show(preview.start)
        try forEachLine { number, line in
            let answer = preview.answerWord(line)
            isMalformed = isMalformed || answer.isMalformed
            for complaint in answer.complaints { complain("telltale: line \(number): \(complaint)") }
            show(answer.text)
        }
        if isMalformed { throw ExitCode.failure }
    }

    /// Runs widgets that show activities: those of a kind, or all of a folder.
    private func runDerived(_ kind: Kind?) throws {
        let preview: DerivedPreview
        do {
            let kinds = try KindFiles.kinds(file, showing: kind, with: with)
            let shown = kinds.filter { candidate in
                guard case .widget(let widget) = candidate.body, widget.activityKind != nil else { return false }
                return kind == nil || candidate.name == kind?.name
            }
            guard !shown.isEmpty else { throw PreviewFault(text: "no widget in it shows activities; name one file") }
            preview = try DerivedPreview(
                kinds, showing: Set(shown.map(\.name)), surface: surface, json: json, at: .ofThisMachine)
        } catch let error as PreviewFault {
            throw fault(error.text)
        }
        try run(preview)
    }

    /// Runs a preview that draws.
    private func run(_ preview: consuming some DrawnPreview) throws {
        var preview = preview
        var (hasFailed, last) = (false, 0)
        func attempt(_ number: Int, _ body: () throws -> [String]) {
            do {
                // Lines of a drawing are harmless, and hold the colours.
                for line in try body() { Output.write((json ? Output.shown(line) : Output.drawable(line)) + "\n") }
            } catch {
                hasFailed = true
                complain("telltale: line \(number): \((error as? PreviewFault)?.text ?? "\(error)")")
            }
        }
        attempt(0) { preview.first() }
        try forEachLine { number, line in
            last = number
            attempt(number) { try preview.performLine(line) }
        }
        if !hasFailed { attempt(last + 1) { try preview.finish() } }
        if hasFailed { throw ExitCode.failure }
    }

    /// The lines of standard input that are not blank and no comment, with their numbers.
    private func forEachLine(_ body: (Int, String) -> Void) throws {
        var input = StandardInputLines()
        var number = 0
        while let lines = input.next(limit: .max) {
            for line in lines {
                number += 1
                if !line.isEmpty, !line.hasPrefix("#") { body(number, line) }
            }
        }
        if let cause = input.failure {
            throw ExitCode.failed("standard input cannot be read: \(cause)")
        }
    }
}

/// A line that a preview cannot take, or kinds that cannot be tried, with the reason.
struct PreviewFault: Error { let text: String }

/// A preview that prints what is shown after each line of `telltale kinds run`.
protocol DrawnPreview {
    /// What is shown before any line.
    func first() -> [String]
    /// Takes a line: a word, and what stands behind it.
    mutating func apply(_ word: String, _ tail: String) throws -> [String]
    /// Lets time pass.
    mutating func pass(_ span: Milliseconds, _ text: String) throws -> [String]
    /// What is shown at the end.
    mutating func finish() throws -> [String]
}

extension DrawnPreview {
    func first() -> [String] { [] }
    mutating func finish() throws -> [String] { [] }

    /// - Returns: What is printed.
    mutating func performLine(_ line: String) throws -> [String] {
        let parts = line.split(separator: " ", maxSplits: 1).map { String($0) }
        let (word, tail) = (parts[0], parts.count > 1 ? parts[1].trimmed : "")
        guard word == "after" else { return try apply(word, tail) }
        guard let span = Milliseconds(duration: tail) else {
            throw PreviewFault(text: "\"\(tail)\" is not a duration: write for example after 5m")
        }
        return try pass(span, "after \(tail)")
    }
}
