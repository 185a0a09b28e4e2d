import Foundation
import Glibc
import TelltaleEventLoop

/// A server under measurement: a process of its own, which ends with the bench.
final class ServerProcess {
    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    /// Processor time, in seconds.
    struct CPU {
        var user = 0.0
        var system = 0.0

        var total: Double { user + system }

        static func - (left: CPU, right: CPU) -> CPU {
            CPU(user: left.user - right.user, system: left.system - right.system)
        }
    }

    private let name: String
    private let process = Process()
    private let output = Pipe()
    private let ended = DispatchSemaphore(value: 0)
    private var buffer: [UInt8] = []

    /// - Parameters:
    ///   - log: The file that gets its standard error, and its standard output too where that is not read.
    ///   - processor: The only one that it may run on.
    init(
        _ executable: String, _ arguments: [String], log: String, readsOutput: Bool = true,
        environment: [String: String] = [:], processor: Int? = nil
    ) throws {
        guard FileManager.default.isExecutableFile(atPath: executable) else {
            throw StartFailure(description: "\(executable) is not there")
        }
        name = executable
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let errors = FileHandle(forWritingAtPath: log) ?? .nullDevice
        // They become the server, under the same number; and the server goes when the bench is killed.
        let pinning = processor.map { ["/usr/bin/taskset", "-c", "\($0)"] } ?? []
        let words = ["/usr/bin/setpriv", "--pdeathsig", "KILL"] + pinning + [executable] + arguments
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, own in own }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = readsOutput ? output : errors
        process.standardError = errors
        let ended = ended
        process.terminationHandler = { _ in ended.signal() }
        try process.run()
    }

    deinit {
        kill()
    }

    /// The next line of its standard output, or `nil` when it ended.
    func readLine() -> String? {
        while true {
            if let newline = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(newline + 1) }
                return String(decoding: buffer[..<newline], as: UTF8.self)
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { return nil }
            buffer += data
        }
    }

    /// Processor time so far; see proc(5).
    var cpu: CPU {
        // The name in brackets may hold spaces, so count from behind it.
        let text = contents("stat")
        let fields = text.suffix(from: text.lastIndex(of: ")") ?? text.startIndex).split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return CPU() }
        let ticks = Double(sysconf(CInt(_SC_CLK_TCK)))
        return CPU(user: user / ticks, system: system / ticks)
    }

    /// Processor time of all its threads so far, in nanoseconds, user and system together: finer than ``cpu``.
    var processorNanoseconds: UInt64 {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: path("task"))) ?? []
        var sum: UInt64 = 0
        for thread in threads {
            sum += contents("task/\(thread)/schedstat").split(separator: " ").first.flatMap { UInt64($0) } ?? 0
        }
        // A kernel may be built without.
        return sum > 0 ? sum : UInt64(cpu.total * 1e9)
    }

    /// Waits until something answers at `port`.
    func waitUntilListening(_ port: UInt16) throws {
        for _ in 0..<500 {
            guard process.isRunning else { break }
            if try Exchange.isListening(.tcp(host: "127.0.0.1", port: port)) { return }
            usleep(10_000)
        }
        throw StartFailure(description: "\(name) does not listen on port \(port)")
    }

    /// Bytes of memory that it holds.
    var residentByteCount: Int {
        let pages = contents("statm").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }

    var identifier: Int32 { process.processIdentifier }

    private func path(_ name: String) -> String { "/proc/\(identifier)/\(name)" }

    private func contents(_ name: String) -> String {
        (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? ""
    }

    /// Ends it in order.
    ///
    /// - Returns: Its exit status, or `nil` when it did not go within `seconds`.
    @discardableResult
    func stop(seconds: Double = 60) -> Int32? {
        guard process.isRunning else { return process.terminationStatus }
        process.terminate()
        guard ended.wait(timeout: .now() + seconds) == .success else { return nil }
        ended.signal()
        return process.terminationStatus
    }

    /// Ends it as a power cut would.
    func kill() {
        guard process.isRunning else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        ended.wait()
        ended.signal()
    }
}
