import Demo
import Foundation
import Simulation
import TelltaleModel
import ToolSupport

/// The scenarios that ship, and those of a user's own files.
enum ScenarioFolder {
    /// The scenarios that ship, by name.
    static func all() throws -> [Scenario] {
        try ShippedFiles.all.compactMap { file in
            guard let name = file.name.name(after: "scenarios/", before: ".json") else { return nil }
            return try Scenario(file: file.bytes, name: name)
        }.sorted { $0.name < $1.name }
    }

    /// A scenario with the files that it names.
    ///
    /// - Parameter name: Of one that ships, or the path of a file. The name of one that ships goes first; `./NAME` is the file.
    static func scenario(named name: String) throws -> Scenario {
        if let bytes = ShippedFiles.bytes(of: "scenarios/\(name).json") {
            var scenario = try Scenario(file: bytes, name: name)
            try scenario.readTraces { trace in
                guard let bytes = ShippedFiles.bytes(of: "scenarios/\(trace)") else {
                    throw Scenario.Fault(description: "\(name): the program has no file \(trace)")
                }
                return bytes
            }
            return scenario
        }
        guard FileManager.default.fileExists(atPath: name) else {
            throw Scenario.Fault(
                description: "there is no scenario \(name); telltale-sim list names those that ship, a path takes yours"
            )
        }
        let file = URL(filePath: name)
        var scenario = try Scenario(file: bytes(of: file), name: file.deletingPathExtension().lastPathComponent)
        try scenario.readTraces { try bytes(of: URL(filePath: $0, relativeTo: file.deletingLastPathComponent())) }
        return scenario
    }

    /// The kinds that a daemon in process needs.
    ///
    /// - Parameter folder: The folder of their files; `nil`: those that ship.
    static func kindFiles(of scenario: Scenario, in folder: String?) throws -> [JSON] {
        try scenario.kindNames.map { name in
            guard let folder else {
                guard let bytes = ShippedFiles.bytes(of: "kinds/\(name).json") else {
                    throw Scenario.Fault(
                        description:
                            "\(scenario.name): no kind that ships has the name \(name); --kinds names the folder of its file"
                    )
                }
                return try JSONParser().parse(bytes.span)
            }
            let file = URL(filePath: folder).appending(path: "\(name).json")
            guard FileManager.default.fileExists(atPath: file.path) else {
                throw Scenario.Fault(
                    description: "\(scenario.name): there is no kind file \(file.path); --kinds names another folder")
            }
            let text = try bytes(of: file)
            do {
                return try JSONParser().parse(text.span)
            } catch {
                throw Scenario.Fault(description: "\(file.path): \(error); telltale kinds check says where")
            }
        }
    }

    private static func bytes(of file: URL) throws -> [UInt8] {
        do throws(NamedFile.Failure) {
            return try NamedFile.read(file.path)
        } catch {
            throw Scenario.Fault(description: error.description)
        }
    }
}

extension String {
    /// The text between a beginning and an end, without a slash.
    fileprivate func name(after beginning: String, before end: String) -> String? {
        guard hasPrefix(beginning), hasSuffix(end) else { return nil }
        let name = dropFirst(beginning.count).dropLast(end.count)
        return name.contains("/") ? nil : String(name)
    }
}
