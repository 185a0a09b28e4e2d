import Foundation
import Glibc
import TestSupport
import Testing

/// Every command that a person keeps open on a terminal: it draws again after a resize, ctrl-Z gives the shell its terminal until `fg`,
/// and ctrl-C ends it.
///
/// A shell with job control runs each one on a terminal of its own, so that the keys reach it as they do where a person types.
/// `TELLTALED=.build/release/telltaled` runs the programs of the release build, which the optimiser may have broken.
@Suite(.serialized, .endsOneDay)
struct TerminalTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let program: String
        let arguments: [String]
        /// What stands on the terminal once the command is ready for keys.
        let shown: String
        /// What it draws after a resize and after `fg`. `nil`: it stays silent there.
        let again: String?
        /// The status after ctrl-C.
        let status: Int

        var testDescription: String { "\(program) \(arguments.first ?? "")" }
    }

    private static let cases: [Case] = [
        Case(
            program: "telltale-sim", arguments: ["run", "coffee-in-the-car", "--speed", "0.1"], shown: "q quits",
            again: "q quits", status: 130),
        Case(
            program: "telltale-sim",
            arguments: ["run", "coffee-in-the-car", "--speed", "0.1", "--connect", "DAEMON"], shown: "q quits",
            again: "q quits", status: 130),
        Case(
            program: "telltale-sim", arguments: ["demo", "--seconds", "600", "--connect", "DAEMON"], shown: "CarPlay",
            again: "CarPlay", status: 130),
        Case(program: "telltale", arguments: ["watch"], shown: "ctrl-c ends", again: "ctrl-c ends", status: 0),
        Case(
            program: "telltale", arguments: ["watch", "errand/*", "--view", "watch"], shown: "ctrl-c ends",
            again: "ctrl-c ends", status: 0),
        Case(program: "telltale", arguments: ["connect"], shown: "> ", again: "> ", status: 0),
        Case(program: "telltale", arguments: ["bar", "waybar"], shown: "\"tooltip\"", again: nil, status: 0),
        Case(
            program: "telltale", arguments: ["context", "add", "x", "--connect", "127.0.0.1:1", "--token", "-"],
            shown: "token: ", again: nil, status: 130),
    ]

    @Test("A resize, ctrl-Z, fg and ctrl-C", arguments: cases)
    func keys(_ command: Case) async throws {
        try await withDaemon { daemon in
            let posted = try Shell(daemon).run("post", "errand/1", "start")
            try #require(posted.status == 0, "\(posted.error)")
            let session = try TerminalSession(
                command.program, command.arguments.map { $0 == "DAEMON" ? "127.0.0.1:\(daemon.port)" : $0 }, daemon)
            let terminal = session.terminal
            #expect(terminal.read(until: command.shown) != nil)
            terminal.resize(width: 70, height: 20)
            if let again = command.again { #expect(terminal.read(until: again) != nil) }
            // One that stays silent does not say when it goes on, and SIGCONT takes a ctrl-Z of before away.
            for _ in 1...(command.again == nil ? 1 : 2) {
                terminal.press("\u{1A}")
                #expect(terminal.read(until: "[stopped]") != nil)
                #expect(terminal.isPlain)
                session.foreground()
                if let again = command.again { #expect(terminal.read(until: again) != nil) }
            }
            terminal.press("\u{3}")
            #expect(terminal.read(until: "[ended \(command.status)]") != nil, "\(terminal.text)")
            #expect(terminal.isPlain)
        }
    }

    @Test func `ctrl-C belongs to the pager, and the command waits for it`() async throws {
        try await onOwnThread {
            let (daemon, folder) = (try DaemonProcess(), try TemporaryFolder())
            let events = ["errand/1 start"] + Array(repeating: "errand/1 update", count: 40)
            let post = try RunningProgram(
                program("telltale"), ["post", "-"], input: events.joined(separator: "\n"),
                environment: ["TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"])
            try #require(post.waitForExit() == 0)
            let pager = folder.url.appending(path: "pager")
            try makeExecutable(
                pager,
                holding: """
                    #!/usr/bin/env python3
                    import signal, sys
                    signal.signal(signal.SIGINT, lambda *_: print("[interrupted]", flush=True))
                    print(f"[paged {len(sys.stdin.readlines())}]", flush=True)
                    with open("/dev/tty") as terminal:
                        while terminal.readline().strip() != "q": pass
                    """)
            let session = try TerminalSession("telltale", ["history", "errand/1"], daemon, ["PAGER": pager.path])
            let terminal = session.terminal
            #expect(terminal.read(until: "[paged 41]") != nil)
            terminal.resize(width: 70, height: 20)
            terminal.press("\u{1A}")
            #expect(terminal.read(until: "[stopped]") != nil)
            session.foreground()
            terminal.press("\u{3}")
            #expect(terminal.read(until: "[interrupted]") != nil)
            terminal.press("q\r")
            #expect(terminal.read(until: "[ended 0]") != nil, "\(terminal.text)")
        }
    }
}

/// A terminal, and a shell with job control that runs one command on it.
private final class TerminalSession {
    let terminal: PseudoTerminal
    private let shell: RunningProgram

    /// The shell is `sh` of Debian (dash): 147 and 148 are the statuses of a job that SIGSTOP and SIGTSTP stopped.
    private static let script = """
        set -m
        trap : INT
        "$@"; status=$?
        while [ $status -eq 147 ] || [ $status -eq 148 ]; do
            echo "[stopped]"
            read -r line
            fg >/dev/null; status=$?
        done
        echo "[ended $status]"
        """

    /// The signals of ctrl-C and ctrl-Z are blocked in the threads of a test, or ignored by who began it, and a child inherits that.
    private static let unblocked = """
        import os, signal, sys
        for name in "INT", "QUIT", "TSTP", "TTIN", "TTOU", "HUP", "PIPE":
            signal.signal(signal.Signals["SIG" + name], signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execvp(sys.argv[1], sys.argv[1:])
        """

    init(
        _ name: String, _ arguments: [String], _ daemon: DaemonProcess, _ environment: [String: String] = [:]
    ) throws {
        terminal = try PseudoTerminal(width: 100, height: 30)
        var all = ["TERM": "xterm", "NO_COLOR": "1", "TELLTALE_CONNECT": "127.0.0.1:\(daemon.port)"]
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] { all[name] = daemon.folder.path }
        all.merge(environment) { $1 }
        shell = try RunningProgram(
            URL(filePath: "/usr/bin/env"),
            ["python3", "-c", Self.unblocked, "setsid", "--ctty", "--wait", "sh", "-c", Self.script, "sh"]
                + [program(name).path] + arguments,
            environment: all, at: terminal, errorsToo: true)
    }

    deinit {
        // The session may have a process group of its own, which the shell's end does not reach.
        terminal.hangUp()
        shell.kill()
    }

    /// Continues the stopped command, and waits until the keys are its own.
    func foreground() {
        let shell = terminal.foregroundGroup
        var waits = 0
        let isContinued = terminal.waitUntil {
            // Pressed again after two seconds: on a busy machine, the shell sometimes reads nothing of the first one.
            if waits % 400 == 0 { $0.press("\r") }
            waits += 1
            return $0.foregroundGroup != shell
        }
        #expect(isContinued, "\(terminal.text)")
    }
}
