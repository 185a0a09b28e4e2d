import Foundation
import TelltaleEventLoop

/// The `telltaled` that was built beside the bench.
struct BenchDaemon {
    /// Stays as long as the daemon does.
    let folder: BenchFolder
    let process: ServerProcess
    let endpoint: Endpoint
    /// The attributes of its `ready` line.
    let ready: [String: String]

    /// - Parameters:
    ///   - arguments: Beside `--data`, `--kinds` and `--listen`.
    ///   - folder: Holds `data` and `kinds`; both are made with it.
    ///   - processor: The only one that it may run on.
    ///   - port: 0 = any that is free.
    init(
        _ arguments: [String] = [], in folder: BenchFolder, environment: [String: String] = [:], processor: Int? = nil,
        port: UInt16 = 0
    ) throws {
        self.folder = folder
        process = try ServerProcess(
            Self.executable,
            ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--listen", "127.0.0.1:\(port)"]
                + ["--log-level", "warning"] + arguments,
            log: folder.path + "/log", environment: environment, processor: processor)
        guard let line = process.readLine(), line.hasPrefix("ready ") else {
            let log = (try? String(contentsOfFile: folder.path + "/log", encoding: .utf8)) ?? ""
            throw ServerProcess.StartFailure(description: "telltaled did not say ready: \(log)")
        }
        ready = Dictionary(
            line.split(separator: " ").dropFirst().compactMap { word in
                let parts = word.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            }, uniquingKeysWith: { first, _ in first })
        guard let text = ready["tcp"], let endpoint = Endpoint(text) else {
            throw ServerProcess.StartFailure(description: "no address in \"\(line)\"")
        }
        self.endpoint = endpoint
    }

    /// Beside this program, where the build puts both. `TELLTALED` names another one.
    private static var executable: String {
        ProcessInfo.processInfo.environment["TELLTALED"]
            ?? URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "telltaled").path
    }
}

/// A folder that goes with the measurement.
final class BenchFolder {
    let path: String

    /// - Parameters:
    ///   - path: Must not exist yet.
    ///   - kinds: Kind files by their names.
    init(_ path: String, kinds: [String: String] = [:]) throws {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw ServerProcess.StartFailure(
                description: "\(path) is there already; remove it, or name another folder with --data")
        }
        self.path = path
        try FileManager.default.createDirectory(atPath: path + "/kinds", withIntermediateDirectories: true)
        for (name, text) in kinds {
            try text.write(toFile: path + "/kinds/" + name, atomically: false, encoding: .utf8)
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// All files in `folder` together, in bytes.
    func byteCount(of folder: String = "data") -> Int {
        let files = FileManager.default.enumerator(atPath: path + "/" + folder)
        var sum = 0
        while let name = files?.nextObject() as? String {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + folder + "/" + name)
            sum += attributes?[.size] as? Int ?? 0
        }
        return sum
    }
}
