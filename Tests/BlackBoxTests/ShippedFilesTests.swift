import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale-sim` needs no folder of its source: the scenarios, their data and the kind files are inside it.
@Suite(.serialized)
struct ShippedFilesTests {
    private func sim(_ arguments: [String]) throws -> (status: Int32?, text: String, errors: String) {
        let run = try RunningProgram(program("telltale-sim"), arguments)
        let text = run.readToEnd().joined(separator: "\n")
        return (run.waitForExit(), text, run.standardError)
    }

    private static let widgets = ["dispatch.json", "kitchen.json", "sales.json"]

    @Test func `what is inside is what the files are, all of them and no others`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let unpacked = try sim(["unpack", folder.path("new")])
            #expect(unpacked.status == 0, "\(unpacked.errors)")
            let sources = [
                ("scenarios", "Tools/telltale-sim/Scenarios"), ("scenarios/data", "Tools/telltale-sim/Scenarios/data"),
                ("kinds", "Protocols/Kinds/examples"),
            ]
            var count = 0
            for (part, source) in sources {
                let (target, source) = (
                    folder.url.appending(path: "new/\(part)"), repository.appending(path: source)
                )
                let names = try Self.files(in: source)
                // The widgets of the demo and of the scenarios are among the kinds, and stand in a folder of their own.
                let more = part == "kinds" ? Self.widgets : []
                #expect(try Self.files(in: target) == (names + more).sorted(), "\(part)")
                count += more.count
                for name in names {
                    let same =
                        try Data(contentsOf: target.appending(path: name))
                        == Data(contentsOf: source.appending(path: name))
                    #expect(same, "\(part)/\(name)")
                }
                count += names.count
            }
            for name in Self.widgets {
                let widget = try Data(contentsOf: folder.url.appending(path: "new/kinds/\(name)"))
                let source = repository.appending(path: "Protocols/Kinds/widgets/\(name)")
                #expect(try widget == Data(contentsOf: source), "\(name)")
            }
            #expect(unpacked.text.hasPrefix("\(count) files written to "))
        }
    }

    @Test func `a file that is there already stays as it is`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            #expect(try sim(["unpack", folder.url.path]).status == 0)
            let mine = folder.url.appending(path: "kinds/parcel.json")
            try Data("{}".utf8).write(to: mine)
            let again = try sim(["unpack", folder.url.path])
            #expect(again.status == 1)
            #expect(again.errors.contains("kinds/parcel.json is there already and differs; choose another folder"))
            #expect(try Data(contentsOf: mine) == Data("{}".utf8))
        }
    }

    @Test func `the program alone, in any folder, lists its scenarios and plays them`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let copy = folder.url.appending(path: "telltale-sim")
            try makeExecutable(copy, from: program("telltale-sim"))
            func alone(_ arguments: String) throws -> (status: Int32?, text: String) {
                let run = try RunningProgram(
                    URL(filePath: "/bin/sh"), ["-c", "cd '\(folder.url.path)' && exec ./telltale-sim \(arguments)"])
                let text = run.readToEnd().joined(separator: "\n")
                return (run.waitForExit(), text + run.standardError)
            }
            let list = try JSONParser.parse(try alone("list --json").text)
            let names = list.array?.compactMap { $0["name"]?.string }
            let files = try Self.files(in: repository.appending(path: "Tools/telltale-sim/Scenarios"))
            #expect(names == files.map { String($0.dropLast(".json".count)) })
            let run = try alone("run coffee-in-the-car")
            #expect(run.status == 0, "\(run.text)")
            // Its data is there as well: the demo gets as far as its daemon.
            let demo = try alone("demo --connect 127.0.0.1:1")
            #expect(demo.status == 69 && demo.text.hasPrefix("no daemon at 127.0.0.1:1: "), "\(demo.text)")
        }
    }

    private static func files(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: [.isRegularFileKey], options: .skipsHiddenFiles
        ).filter { try $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true }
            .map(\.lastPathComponent).sorted()
    }
}
