import ArgumentParser
import Client
import EventLoop
import Foundation
import Glibc
import Model
import Wire

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Is the provider of a kind of controls: runs a command for each action.",
        discussion: """
            The command runs in a shell with TELLTALE_KEY, TELLTALE_ACTION (set or press), TELLTALE_VALUE (on, off or
            empty), TELLTALE_OP and TELLTALE_DEADLINE (Unix ms). Exit status 0 is done, anything else failed.

            A toggle's command may print what the thing is now, on or off, as its last line; without that the value is
            taken for what was asked, and told as assumed. What a failing command prints last on standard error is told
            to whoever tapped. A command that is still at it when its deadline comes, or when the same control is to do
            something else, is terminated.

              telltale serve porch-light --exec 'gpioset 17=$([ $TELLTALE_VALUE = on ] && echo 1 || echo 0)'
              telltale serve porch-light --report front=off --exec true
            """)

    @Argument(help: "The kind to serve.") var kind: String
    @Option(help: ArgumentHelp("What does it.", valueName: "command")) var exec: String
    @Option(
        help: ArgumentHelp(
            "How a control is when this begins, as front=off, or front for a button; may be repeated.",
            valueName: "id[=on|off]"))
    var report: [String] = []
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard Key.isSegment(kind.utf8) else {
            throw ValidationError("KIND is to be 1 to 64 of [A-Za-z0-9._~:@-], not '\(kind)'.")
        }
        _ = try reports()
    }

    func run() throws {
        try Provider(endpoint: try daemon.endpoint(), kind: kind, command: exec, reports: try reports()).run()
    }

    private func reports() throws -> [(key: Key, value: Bool?)] {
        try report.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            let value: Bool? =
                switch parts.count > 1 ? parts[1] : "" {
                case "on": true
                case "off": false
                case "": nil
                case _: throw ValidationError("--report is to be ID, ID=on or ID=off, not '\(text)'.")
                }
            guard let key = Key(kind: kind, id: parts.first ?? "") else {
                throw ValidationError("--report: '\(text)' does not begin with the id of a control.")
            }
            return (key, value)
        }
    }
}

/// The client of `telltale serve`.
private final class Provider {
    private let endpoint: Endpoint
    private let kind: String
    private let command: String
    private let reports: [(key: Key, value: Bool?)]
    private var serving: RequestID?
    private var hasServed = false
    private var outcome: ExitCode?
    /// The command that is at each control.
    private var running: [Key: Action] = [:]

    private struct Action {
        var operation: String
        var process: Process
        var deadline: TimerHandle?

        /// The shell with all that it has begun, which would act on else: the command is a process group.
        func terminate() {
            guard process.isRunning else { return }
            kill(0 - process.processIdentifier, SIGTERM)
        }
    }

    /// What a finished command tells the loop.
    private struct Outcome: Sendable {
        var operation: String
        var status: Int32
        /// The last line that it printed.
        var said: String?
        /// Why it could not even be run.
        var failure: String?
    }

    init(endpoint: Endpoint, kind: String, command: String, reports: [(key: Key, value: Bool?)]) {
        self.endpoint = endpoint
        self.kind = kind
        self.command = command
        self.reports = reports
    }

    func run() throws {
        let loop = try EventLoop()
        var mailbox: Mailbox<Outcome>?
        let client = try Client(to: endpoint, configuration: DaemonOptions.configuration(), on: loop) {
            [unowned self] client, event in
            handle(event, client, loop, mailbox?.sender)
        }
        mailbox = try Mailbox<Outcome>(on: loop) { [unowned self, unowned client] outcomes in
            for outcome in outcomes {
                running = running.filter { $0.value.operation != outcome.operation }
                client.request(
                    outcome.status == 0
                        ? .done(
                            op: outcome.operation,
                            value: outcome.said == "on" ? true : outcome.said == "off" ? false : nil)
                        : .fail(
                            op: outcome.operation, code: "failed",
                            message: outcome.failure ?? outcome.said ?? "exit status \(outcome.status)"))
            }
        }
        let signals = try [SignalHandle.Signal.interrupt, .terminate, .hangUp].map { signal in
            try SignalHandle(signal, on: loop) { [unowned self] in finish(.success, loop) }
        }
        serving = client.request(.serve(kind: kind))
        client.start()
        loop.run()
        for action in running.values { action.terminate() }
        withExtendedLifetime((signals, mailbox)) {}
        if let outcome, outcome != .success { throw outcome }
    }

    private func finish(_ outcome: ExitCode, _ loop: EventLoop) {
        if self.outcome == nil { self.outcome = outcome }
        loop.stop()
    }

    private func handle(
        _ event: ClientEvent, _ client: Client, _ loop: EventLoop, _ sender: Mailbox<Outcome>.Sender?
    ) {
        switch event {
        case .reply(let id, let reply) where id == serving:
            guard reply.isOK else { return refused(DaemonOptions.describe(reply.line), loop) }
            hasServed = true
            for report in reports { client.request(.report(report.key, value: report.value, at: nil)) }
            StandardError.write("telltale: serving \(kind)")
        case .reply(_, let reply) where !reply.isOK:
            StandardError.write("telltale: \(DaemonOptions.describe(reply.line))")
        case .refused(let reason, _): refused(reason, loop)
        case .disconnected(let reason, _):
            guard hasServed else { return finish(DaemonOptions.exit(after: .unreachable(reason)), loop) }
            StandardError.write("telltale: \(reason); trying again")
        case .action(let action): perform(action, loop, sender)
        case .lost: StandardError.write("telltale: an answer was lost with the connection")
        case .violation(let text): StandardError.write("telltale: the daemon broke a promise: \(text)")
        case .serviceRefused(_, let line): refused(DaemonOptions.describe(line), loop)
        case .ready, .item, .reply, .restarted, .subscription, .traitsRefused, .farewell: break
        }
    }

    private func refused(_ reason: String, _ loop: EventLoop) {
        StandardError.write("telltale: \(reason)")
        finish(.failure, loop)
    }

    private func perform(_ action: ProviderAction, _ loop: EventLoop, _ sender: Mailbox<Outcome>.Sender?) {
        // An older command would set the thing back, when it comes to its end.
        running.removeValue(forKey: action.key)?.terminate()
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        var environment = ProcessInfo.processInfo.environment
        environment["TELLTALE_KEY"] = action.key.text
        environment["TELLTALE_ACTION"] = action.isPress ? "press" : "set"
        environment["TELLTALE_VALUE"] = action.value.map { $0 ? "on" : "off" } ?? ""
        environment["TELLTALE_OP"] = action.operation
        environment["TELLTALE_DEADLINE"] = "\(action.deadline.milliseconds)"
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        let operation = action.operation
        do {
            try process.run()
        } catch {
            _ = sender?.post(Outcome(operation: operation, status: -1, failure: "\(error)"))
            return
        }
        let (outputEnd, errorEnd) = (output.fileHandleForReading, errors.fileHandleForReading)
        Thread.detachNewThread {
            // Both are read, so that a talkative command does not wait for its reader.
            let complaint = Task.detached { LastLine.read(from: errorEnd, echo: true) }
            let value = LastLine.read(from: outputEnd, echo: false)
            process.waitUntilExit()
            let status = process.terminationStatus
            Task.detached {
                let said = status == 0 ? value : await complaint.value
                _ = sender?.post(Outcome(operation: operation, status: status, said: said))
            }
        }
        let deadline = try? TimerHandle(on: loop) { [unowned self] _ in
            guard running[action.key]?.operation == operation else { return }
            running.removeValue(forKey: action.key)?.terminate()
        }
        let now = Timestamp(milliseconds: EventLoop.wallClockMilliseconds())
        deadline?.schedule(afterMilliseconds: max(0, (action.deadline - now).count))
        running[action.key] = Action(operation: operation, process: process, deadline: deadline)
    }
}

/// The last line of what a command prints.
private enum LastLine {
    /// - Parameter echo: Show all of it on standard error too.
    static func read(from handle: FileHandle, echo: Bool) -> String? {
        var bytes: [UInt8] = []
        while true {
            let data = handle.availableData
            guard !data.isEmpty else { break }
            if echo { StandardStream.error.write([UInt8](data).span) }
            bytes = Array((bytes + data).suffix(4_096))
        }
        let line = bytes.split(separator: UInt8(ascii: "\n")).last.map { String(decoding: $0, as: UTF8.self) }
        return line?.trimmingCharacters(in: .whitespaces)
    }
}
