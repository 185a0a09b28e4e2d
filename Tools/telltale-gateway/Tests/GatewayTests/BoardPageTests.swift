import Board
import Foundation
import Gateway
import Testing

/// The files of the board, as the program holds them.
struct BoardPageTests {
    @Test func `the page names files that exist, under the version of this program`() throws {
        for file in [BoardFiles.page, BoardFiles.pageWithReceived, BoardFiles.pageWithSent, BoardFiles.examples] {
            let page = String(decoding: file.bytes, as: UTF8.self)
            let named = page.matches(of: /\/assets\/([^\/]+)\/([^"]+)"/)
            #expect(named.count > 2)
            for match in named {
                #expect(String(match.1) == BoardFiles.version)
                #expect(BoardFiles.files[String(match.2)] != nil, "\(match.2)")
            }
            #expect(!page.contains("VERSION") && !page.contains("PUSHES"))
        }
    }

    @Test func `every file of the folders is inside, as it is there`() throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        var files: [String: URL] = [:]
        for folder in ["../../Sources/Board/Page", "../../../clients/javascript/src"] {
            for name in try FileManager.default.contentsOfDirectory(atPath: here.appending(path: folder).path()) {
                #expect(files.updateValue(here.appending(path: "\(folder)/\(name)"), forKey: name) == nil, "\(name)")
            }
        }
        for name in ["page.html", "showcase.html", "telltale.d.ts", "shared.d.ts"] { files[name] = nil }
        #expect(Set(files.keys) == Set(BoardFiles.files.keys.filter { !$0.hasSuffix(".json") }))
        for (name, file) in files {
            #expect(try Data(contentsOf: file) == Data(BoardFiles.files[name]?.bytes ?? []), "\(name)")
        }
    }

    @Test func `the page leads to the pushes that there are`() {
        let pages = [BoardFiles.page, BoardFiles.pageWithReceived, BoardFiles.pageWithSent].map {
            String(decoding: $0.bytes, as: UTF8.self)
        }
        #expect(pages.map { $0.contains("href=\"/pushes\"") } == [false, true, false])
        #expect(pages.map { $0.contains("href=\"/sent\"") } == [false, false, true])
    }

    @Test func `the playground names each example that there is`() throws {
        let list = String(decoding: try #require(BoardFiles.files["examples.js"]).bytes, as: UTF8.self)
        let named = list.matches(of: /\{ name: "([a-z-]+)"/).map { "\($0.1).json" }
        #expect(Set(named) == Set(BoardFiles.files.keys.filter { $0.hasSuffix(".json") }) && named.count == 10)
        for name in named {
            let report = LintReport.make(of: try #require(BoardFiles.files[name]).bytes, hasDiagram: false)
            #expect(String(decoding: report, as: UTF8.self).contains(#""errors":0,"warnings":0"#), "\(name)")
        }
    }

    @Test func `modules import files that exist`() {
        for (name, file) in BoardFiles.files where name.hasSuffix(".js") {
            let text = String(decoding: file.bytes, as: UTF8.self)
            for match in text.matches(of: /(?:from|import\() ?"\.\/([^"]+)"/) {
                #expect(BoardFiles.files[String(match.1)] != nil, "\(name) imports \(match.1)")
            }
        }
    }

    @Test func `no file has markup made of texts, or anything from elsewhere`() {
        // Examples are data, and become texts as all data does.
        for (name, file) in BoardFiles.files where !name.hasSuffix(".json") {
            let text = String(decoding: file.bytes, as: UTF8.self)
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "@import",
            ] {
                #expect(!text.contains(word), "\(name) has \(word)")
            }
            let addresses = text.matches(of: /https?:\/\/[^"' )]+/).map { String($0.0) }
            #expect(addresses.allSatisfy { $0 == "http://www.w3.org/2000/svg" }, "\(name): \(addresses)")
        }
    }

    @Test func `what is compressed is smaller, and is gzip`() {
        for (name, file) in BoardFiles.files where file.bytes.count > 1_000 {
            #expect(
                file.compressed.map { $0.count < file.bytes.count && $0.starts(with: [0x1F, 0x8B]) } ?? false, "\(name)"
            )
        }
        let whole = BoardFiles.files.values.reduce(BoardFiles.page.bytes.count) {
            $0 + ($1.compressed ?? $1.bytes).count
        }
        #expect(whole < 120_000)
    }

    @Test(arguments: [
        ("gzip", true), ("br, gzip;q=0.5", true), ("*", true), ("GZIP ; q=1", true), ("", false), ("br", false),
        ("gzip;q=0", false), ("*;q=0", false), ("gzip;q=0, *", false), ("gzip;q=x", true),
    ])
    func `a request says whether it takes gzip`(field: String, isTaken: Bool) {
        #expect(Acceptance.takesGzip([field]) == isTaken)
    }
}
