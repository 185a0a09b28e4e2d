import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// Where the repository is, from this file's own place in it.
let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// A real `telltaled`, on a free port, with a data folder and a kinds folder of its own that go with it.
///
/// Blocking; not for the cooperative pool.
final class DaemonProcess {
    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    /// The port and the words of the `ready` line.
    let port: UInt16
    let ready: [String: String]
    let folder: URL
    private let program: RunningProgram

    /// - Parameters:
    ///   - arguments: Options beside `--data`, `--kinds` and `--listen`.
    ///   - folder: The folder of an earlier daemon, whose data this one takes over; `nil`: a new one, which is removed
    /// afterwards.
    ///   - port: The port to listen on; 0: any free one.
    ///   - limits: Shell commands, such as `ulimit`, to run before the daemon.
    init(_ arguments: [String] = [], in folder: URL? = nil, port wantedPort: UInt16 = 0, limits: String? = nil) throws {
        self.folder = try folder ?? Self.makeFolder()
        isFolderOwned = folder == nil
        program = try Self.launch(
            [
                "--data", self.folder.appending(path: "data").path, "--kinds",
                self.folder.appending(path: "kinds").path, "--listen", "127.0.0.1:\(wantedPort)",
            ] + arguments, limits: limits)
        guard let line = program.readLine(), line.hasPrefix("ready ") else {
            program.kill()
            throw StartFailure(description: "telltaled did not say ready: \(program.standardError)")
        }
        ready = Dictionary(
            line.split(separator: " ").dropFirst().compactMap { word in
                let parts = word.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            }, uniquingKeysWith: { first, _ in first })
        guard let text = ready["tcp"]?.split(separator: ":").last, let port = UInt16(text) else {
            program.kill()
            throw StartFailure(description: "no port in \"\(line)\"")
        }
        self.port = port
    }

    private let isFolderOwned: Bool

    static func launch(_ arguments: [String], limits: String? = nil) throws -> RunningProgram {
        guard let limits else { return try RunningProgram(executable, arguments) }
        return try RunningProgram(
            URL(filePath: "/bin/sh"), ["-c", "\(limits); exec \"$0\" \"$@\"", executable.path] + arguments)
    }

    deinit {
        program.kill()
        if isFolderOwned { try? FileManager.default.removeItem(at: folder) }
    }

    var standardError: String { program.standardError }

    /// Waits until its log contains `text`. Nothing but the log says when a signal was served.
    func waitUntilLogged(_ text: String) throws {
        let deadline = Date.now.addingTimeInterval(patience)
        while !standardError.contains(text), Date.now < deadline { usleep(10_000) }
        try #require(standardError.contains(text), "\(standardError)")
    }

    /// Sends SIGHUP, and waits until the kinds were read again, by another thread than the one that answers.
    func readKindsAgain() throws {
        func count() -> Int { standardError.matches(of: /kinds (?:were not )?reloaded/).count }
        let (before, deadline) = (count(), Date.now.addingTimeInterval(patience))
        send(SIGHUP)
        while count() == before, Date.now < deadline { usleep(5_000) }
        try #require(count() > before, "\(standardError)")
    }

    /// The status with which it ended, or `nil` when it still runs after `seconds`.
    func waitForExit(seconds: Double = patience) -> Int32? { program.waitForExit(seconds: seconds) }

    func send(_ signal: CInt) { program.send(signal) }

    func waitUntilStopped() -> Bool { program.waitUntilStopped() }

    /// Takes away all room for its files, or gives it back: a limit on their size is a full disk to it.
    func setDiskFull(_ isFull: Bool) throws {
        let limit = isFull ? "0" : "unlimited"
        let prlimit = try RunningProgram(
            URL(filePath: "/usr/bin/env"), ["prlimit", "--pid", "\(program.identifier)", "--fsize=\(limit):"])
        guard prlimit.waitForExit() == 0 else {
            throw StartFailure(description: "prlimit: \(prlimit.standardError)")
        }
    }

    /// Of the process.
    var identifier: Int32 { program.identifier }

    /// Bytes of memory that it holds.
    var residentByteCount: Int {
        let text = (try? String(contentsOfFile: "/proc/\(program.identifier)/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4096
    }

    var openDescriptorCount: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(program.identifier)/fd")) ?? []).count
    }

    /// A connection whose greeting was read.
    ///
    /// - Parameter port: Another one that leads to the daemon.
    func greetedPeer(port: UInt16? = nil) throws -> Peer {
        let peer = try Peer(port: port ?? self.port)
        #expect(try peer.receive().verb == "TELLTALE")
        return peer
    }

    /// A folder with `kinds` in it: the shipped ones, and the ones of the transcripts.
    static func makeFolder() throws -> URL {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: "telltale-\(UUID().uuidString)")
        let kinds = folder.appending(path: "kinds")
        try files.createDirectory(at: kinds, withIntermediateDirectories: true)
        for source in ["Protocols/Kinds/examples", "Protocols/Line/kinds"] {
            let source = repository.appending(path: source)
            for name in try files.contentsOfDirectory(atPath: source.path) where name.hasSuffix(".json") {
                try files.copyItem(at: source.appending(path: name), to: kinds.appending(path: name))
            }
        }
        return folder
    }

    /// Beside the test bundle, where the build puts both. `TELLTALED` names another one.
    static let executable: URL = {
        if let path = ProcessInfo.processInfo.environment["TELLTALED"] { return URL(filePath: path) }
        return URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "telltaled")
    }()
}

extension DaemonProcess {
    /// A daemon with these arguments does not serve: it exits with a failure and one line that contains `text`.
    static func expectRefusal(of arguments: [String], telling text: String) throws {
        let program = try launch(arguments)
        let status = try #require(program.waitForExit(), "it runs")
        #expect(status != 0)
        #expect(program.readToEnd().isEmpty, "it said ready")
        let errors = program.standardError.split(separator: "\n").filter { !$0.contains(" warning ") }
        #expect(errors.contains { $0.contains(text) }, "\(errors)")
    }
}

/// A program with its output read as it comes.
final class RunningProgram {
    private let process = Process()
    private let output = Pipe()
    /// A file, so that all it said is there once it has ended; a pipe would have to be read to its end first.
    private let errors = FileManager.default.temporaryDirectory.appending(path: "telltale-errors-\(UUID().uuidString)")
    private let ended = DispatchSemaphore(value: 0)
    private var buffer: [UInt8] = []

    /// - Parameters:
    ///   - input: The text of its standard input; `nil`: nothing.
    ///   - end: The target of its output; `nil`: the pipe that ``readLine()`` reads.
    ///   - terminal: The terminal of its input and output.
    ///   - errorsToo: Whether that is its standard error too.
    init(
        _ executable: URL, _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
        writingTo end: FileHandle? = nil, at terminal: PseudoTerminal? = nil, errorsToo: Bool = false
    ) throws {
        process.executableURL = executable
        process.arguments = arguments
        process.environment = Lane.childEnvironment.merging(environment) { _, own in own }
        process.standardOutput = end ?? terminal?.end ?? output
        try Data().write(to: errors)
        let errorOutput = try FileHandle(forWritingTo: errors)
        process.standardError = errorsToo ? terminal?.end ?? errorOutput : errorOutput
        // Foundation keeps a finished process and its file handles for ever. A test that runs a thousand programs would
        // run out of descriptors.
        defer { try? errorOutput.close() }
        let ended = ended
        process.terminationHandler = { _ in ended.signal() }
        if let input {
            let pipe = Pipe()
            process.standardInput = pipe
            try process.run()
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
        } else {
            process.standardInput = terminal?.end ?? FileHandle.nullDevice
            try process.run()
        }
    }

    deinit {
        try? output.fileHandleForReading.close()
        try? FileManager.default.removeItem(at: errors)
    }

    var identifier: Int32 { process.processIdentifier }
    var standardError: String { (try? Data(contentsOf: errors)).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// The next line of its standard output; `nil` at the end, or after too long without one.
    func readLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeSubrange(...end) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            guard readMore() else { return nil }
        }
    }

    /// The rest of its standard output, with a last line that has no end.
    func readText() -> String {
        while readMore() {}
        defer { buffer = [] }
        return String(decoding: buffer, as: UTF8.self)
    }

    /// Whether more of its output came.
    private func readMore() -> Bool {
        var wanted = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&wanted, 1, CInt(patience * 1_000)) > 0 else { return false }
        let data = output.fileHandleForReading.availableData
        buffer += data
        return !data.isEmpty
    }

    func readToEnd() -> [String] {
        var lines: [String] = []
        while let line = readLine() { lines.append(line) }
        return lines
    }

    /// Waits until it is stopped and does not go on, as after ctrl-Z.
    func waitUntilStopped() -> Bool {
        let (child, stopped) = (id_t(identifier), DispatchSemaphore(value: 0))
        // The system notifies the parent; a thread of its own waits for that, because the call knows no time limit. It ends
        // with the program at the latest.
        Thread {
            var state = unsafe siginfo_t()
            if unsafe waitid(P_PID, child, &state, WSTOPPED | WNOWAIT) == 0 { stopped.signal() }
        }.start()
        return stopped.wait(timeout: .now() + patience) == .success
    }

    func send(_ signal: CInt) { Glibc.kill(process.processIdentifier, signal) }

    func waitForExit(seconds: Double = patience) -> Int32? {
        guard ended.wait(timeout: .now() + seconds) == .success else { return nil }
        ended.signal()  // For whoever asks again.
        return process.terminationStatus
    }

    func kill() {
        guard process.isRunning else { return }
        send(SIGKILL)
        _ = waitForExit()
    }
}

/// Runs a test on a thread of its own, with a folder for a daemon, which is removed afterwards.
func inFolder(_ body: @escaping @Sendable (URL) throws -> Void) async throws {
    try await onOwnThread {
        let folder = try DaemonProcess.makeFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }
}

/// Runs a test on a thread of its own, with a daemon.
func withDaemon(_ body: @escaping @Sendable (DaemonProcess) throws -> Void) async throws {
    try await onOwnThread { try body(try DaemonProcess()) }
}
