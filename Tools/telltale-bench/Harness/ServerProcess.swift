import Foundation
import Glibc

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

    private let process = Process()
    private let output = Pipe()
    private let ended = DispatchSemaphore(value: 0)
    private var buffer: [UInt8] = []

    /// - Parameter log: The file that gets its standard error, and its standard output too where that is not read.
    init(
        _ executable: String, _ arguments: [String], log: String, readsOutput: Bool = true,
        environment: [String: String] = [:]
    ) throws {
        guard FileManager.default.isExecutableFile(atPath: executable) else {
            throw StartFailure(description: "\(executable) is not there")
        }
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let errors = FileHandle(forWritingAtPath: log) ?? .nullDevice
        process.executableURL = URL(filePath: executable)
        process.arguments = arguments
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

    /// Bytes of memory that it holds.
    var residentByteCount: Int {
        let pages = contents("statm").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(CInt(_SC_PAGESIZE))
    }

    private func contents(_ name: String) -> String {
        (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/\(name)", encoding: .utf8)) ?? ""
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
