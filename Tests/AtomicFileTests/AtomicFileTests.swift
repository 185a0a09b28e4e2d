import AtomicFile
import Foundation
import TestSupport
import Testing

struct AtomicFileTests {
    private let folder: TemporaryFolder
    private let file: AtomicFile

    init() throws {
        folder = try TemporaryFolder()
        file = AtomicFile(folder.path("deep/er/file"))
        try file.makeFolder()
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// The names in the folder of the file.
    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path("deep/er")).sorted()
    }

    @Test func `a new file is its owner's alone, and so are the folders that are made for it`() throws {
        #expect(try file.read(limit: 10) == nil)
        try file.replace(with: Array("one".utf8))
        #expect(try mode(file.path) == 0o600)
        #expect(try mode(folder.path("deep")) == 0o700 && mode(folder.path("deep/er")) == 0o700)
        try file.makeFolder()
        let content = try #require(try file.read(limit: 3))
        #expect(content.bytes == Array("one".utf8) && content.mode == 0o600)
        #expect(throws: AtomicFile.Failure.self) { try file.read(limit: 2) }
    }

    @Test func `a replaced file keeps its mode, or gets the one that is asked for`() throws {
        try file.replace(with: [1])
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
        try file.replace(with: [2])
        #expect(try mode(file.path) == 0o640)
        try file.replace(with: [3], mode: 0o600)
        #expect(try mode(file.path) == 0o600)
        #expect(try names() == ["file"])
    }

    @Test func `a link is followed to read, and never to write`() throws {
        let target = folder.path("target")
        try "kept".write(toFile: target, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: target)
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: target)
        #expect(try file.read(limit: 10)?.bytes == Array("kept".utf8))
        try file.replace(with: Array("new".utf8))
        #expect(try text(target) == "kept" && text(file.path) == "new")
        #expect(try mode(file.path) == 0o600, "the mode of the target is not taken")
    }

    @Test func `what cannot be replaced stays as it was, and nothing is left beside it`() throws {
        try FileManager.default.createDirectory(atPath: file.path + "/inside", withIntermediateDirectories: true)
        let failure = #expect(throws: AtomicFile.Failure.self) { try file.replace(with: [1]) }
        #expect(failure?.description.hasPrefix("\(file.path): cannot be written: ") == true)
        #expect(throws: AtomicFile.Failure.self) { try file.read(limit: 10) }
        #expect(try names() == ["file"])
        #expect(throws: AtomicFile.Failure.self) { try AtomicFile(folder.path("none/file")).replace(with: [1]) }
        #expect(throws: AtomicFile.Failure.self) { _ = try AtomicFile(folder.path("none/file")).lock() }
    }

    @Test func `a link, a folder and a device are not plain, and what is not there is`() throws {
        #expect(file.isPlain && !file.exists)
        try file.replace(with: [])
        #expect(file.isPlain && file.exists)
        let link = AtomicFile(folder.path("deep/link"))
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "/nowhere/at/all")
        #expect(!link.isPlain && link.exists)
        #expect(!AtomicFile(folder.path("deep")).isPlain && !AtomicFile("/dev/null").isPlain)
    }

    @Test func `a file is removed once`() throws {
        try file.replace(with: [])
        #expect(try file.remove())
        #expect(try !file.remove())
    }

    @Test func `an edit waits for another one, so that none is lost`() async throws {
        try file.replace(with: Array("0".utf8))
        let path = file.path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await onOwnThread {
                        for _ in 0..<25 {
                            let file = AtomicFile(path)
                            let lock = try file.lock()
                            let bytes = try #require(try file.read(limit: 10)).bytes
                            let number = try #require(Int(String(decoding: bytes, as: UTF8.self)))
                            try file.replace(with: Array("\(number + 1)".utf8))
                            _ = consume lock
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try text(path) == "200")
    }
}
