import Foundation
import Simulation
import TelltaleModel

/// Where the scenarios that ship are, and how one is read.
enum ScenarioFolder {
    /// `TELLTALE_SCENARIOS`, else the folder beside this program's source.
    static var url: URL {
        if let path = ProcessInfo.processInfo.environment["TELLTALE_SCENARIOS"] { return URL(filePath: path) }
        return URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scenarios")
    }

    /// The kind files that ship.
    static var kinds: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Protocols/Kinds/examples")
    }

    static func all() throws -> [Scenario] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).filter { $0.hasSuffix(".json") }.sorted()
            .map { try parse(url.appending(path: $0)) }
    }

    /// A scenario with the files that it names.
    ///
    /// - Parameter name: Of one that ships, or the path of a file.
    static func scenario(named name: String) throws -> Scenario {
        let shipped = url.appending(path: name + ".json")
        let file = FileManager.default.fileExists(atPath: shipped.path) ? shipped : URL(filePath: name)
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw Scenario.Fault(
                description: "there is no scenario \(name); telltale-sim list names those that ship, a path takes yours"
            )
        }
        var scenario = try parse(file)
        try scenario.readTraces { try bytes(of: $0, beside: file) }
        return scenario
    }

    /// The kinds that a daemon in process needs.
    ///
    /// - Parameter folder: The folder of their files; by default the shipped ones.
    static func kindFiles(of scenario: Scenario, in folder: String?) throws -> [JSON] {
        let folder = folder.map { URL(filePath: $0) } ?? kinds
        return try scenario.kindNames.map { name in
            let file = folder.appending(path: "\(name).json")
            guard FileManager.default.fileExists(atPath: file.path) else {
                throw Scenario.Fault(
                    description: "\(scenario.name): there is no kind file \(file.path); --kinds names another folder")
            }
            return try json(file)
        }
    }

    private static func bytes(of name: String, beside file: URL) throws -> [UInt8] {
        let path = URL(filePath: name, relativeTo: file.deletingLastPathComponent())
        do {
            return try Array(Data(contentsOf: path))
        } catch {
            throw Scenario.Fault(description: "\(path.path) cannot be read: \(error.localizedDescription)")
        }
    }

    private static func parse(_ file: URL) throws -> Scenario {
        try Scenario(json(file), name: file.deletingPathExtension().lastPathComponent)
    }

    private static func json(_ file: URL) throws -> JSON {
        do {
            return try JSONParser().parse([UInt8](Data(contentsOf: file)).span)
        } catch {
            throw Scenario.Fault(description: "\(file.path): \(error)")
        }
    }
}
