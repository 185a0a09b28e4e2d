import TelltaleWire
import TestSupport
import Testing

struct LineDecoderTests {
    @Test(
        "Lines come out the same however the bytes were cut",
        arguments: [
            ("PING\n", ["PING"]),
            ("PING\r\nBYE\n", ["PING", "BYE"]),
            ("\n\r\n\nPING\n\n", ["PING"]),
            ("# a comment\r\nPING\n#\n", ["PING"]),
            (" \n   \r\nPING \n", ["PING "]),
            (
                "GET na\u{EF}ve/\u{2615}\u{FE0F}\u{1F680}\u{7FF}\u{800}\u{FFFF}\n",
                ["GET na\u{EF}ve/\u{2615}\u{FE0F}\u{1F680}\u{7FF}\u{800}\u{FFFF}"]
            ),
            ("PING id=1", []),
            ("PING\nPING id=2", ["PING"]),
            ("ping\nPiNg x\nab\nabcdefghijkl {}\n", ["ping", "PiNg x", "ab", "abcdefghijkl {}"]),
            (
                #"EVT a/b type=start eid=0123456789abcdef {"attributes":{"item":"Flat white, large"}}"# + "\n",
                [#"EVT a/b type=start eid=0123456789abcdef {"attributes":{"item":"Flat white, large"}}"#]
            ),
        ])
    func cut(_ example: (input: String, lines: [String])) {
        let bytes = Array(example.input.utf8)
        for length in 1...max(1, bytes.count) {
            #expect(
                decode(bytes, pieceLength: length) == Decoded(lines: example.lines, code: nil), "pieces of \(length)")
        }
        for cut in 0...bytes.count {
            #expect(decode([Array(bytes[..<cut]), Array(bytes[cut...])]) == Decoded(lines: example.lines, code: nil))
        }
    }

    @Test(
        "What breaks the framing is refused however the bytes were cut, after the lines before it",
        arguments: [
            ([0xFF], ErrorCode.badUTF8), ([0x80], .badUTF8), ([0xC0, 0x80], .badUTF8), ([0xC1, 0xBF], .badUTF8),
            ([0xE0, 0x9F, 0xBF], .badUTF8), ([0xED, 0xA0, 0x80], .badUTF8), ([0xF0, 0x8F, 0xBF, 0xBF], .badUTF8),
            ([0xF4, 0x90, 0x80, 0x80], .badUTF8), ([0xF5, 0x80, 0x80, 0x80], .badUTF8), ([0xE2, 0x98], .badUTF8),
            ([0xE2, 0x28, 0xA1], .badUTF8), ([0xC3], .badUTF8),
            ([0x00], .badLine), ([0x09], .badLine), ([0x1F], .badLine), ([0x7F], .badLine), ([0x0D, 0x20], .badLine),
            ([0x0D, 0x0D], .badLine), ([0x0B], .badLine), ([0x1B, 0x5B], .badLine),
        ] as [([UInt8], ErrorCode)])
    func broken(bytes fault: [UInt8], code: ErrorCode) {
        for prefix in ["", "GET ", "# ", "GET a/b {\"x\":\"0123456789012345678901234567890123456789"] {
            let bytes = Array("PING\n\(prefix)".utf8) + fault + Array("\nPING\n".utf8)
            for length in 1...bytes.count {
                #expect(decode(bytes, pieceLength: length) == Decoded(lines: ["PING"], code: code))
            }
        }
    }

    @Test(
        "Another protocol's first word ends the stream, whatever follows it and however the bytes were cut",
        arguments: [
            "HEAD", "post /x HTTP/1.1", "Put", "DELETE a/b", "OPTIONS * HTTP/1.1", "trace id=1",
            "CONNECT example.com:80",
            "PATCH /", "PRI * HTTP/2.0", "PROXY TCP4 10.0.0.1 10.0.0.2 1 2", "EHLO example.com", "helo {}",
            "GET / HTTP/1.1",
            "get /orders/1", "GET http://127.0.0.1:7878/ HTTP/1.1",
        ])
    func foreign(line: String) {
        let bytes = Array("PING\n\(line)\r\nEVT a/b type=start\n".utf8)
        for length in 1...bytes.count {
            #expect(decode(bytes, pieceLength: length) == Decoded(lines: ["PING"], code: .badLine))
        }
    }

    @Test func `a verb that only resembles another protocol's first word is a line`() {
        let lines = [
            "GET a/b", "GET a/b:/c", "GET a:/c", "GET a/b//c", "GET *", "GET", "EVT a/b type=start", "HEADS",
            "DEL sub=1", "HELP", "OPEN a/b",
            "PRESS a/b",
            "TRAIT a=b",
        ]
        let bytes = Array(lines.joined(separator: "\n").utf8) + [0x0A]
        #expect(decode(bytes, pieceLength: bytes.count) == Decoded(lines: lines, code: nil))
    }

    @Test(
        "A line without a verb by the grammar is refused",
        arguments: [
            " PING", "P", "P1NG", "1", "{}", "ABCDEFGHIJKLM", "\u{FEFF}PING", "PING=1", "PING{}", "Host: x", "\u{E9}vt",
            "\u{FEFF}", "\u{FEFF}# comment",
        ])
    func noVerb(line: String) {
        for length in 1...line.utf8.count {
            #expect(decode(Array("\(line)\n".utf8), pieceLength: length) == Decoded(lines: [], code: .badLine))
        }
    }

    @Test("The limit counts the bytes before the line ending", arguments: ["\n", "\r\n"], 1...16)
    func limit(lineEnding: String, pieceLength: Int) {
        for limit in [8, 40] {
            let longest = "GET " + String(repeating: "x", count: limit - 4)
            let taken = Array((longest + lineEnding).utf8)
            let refused = Array((longest + "y" + lineEnding).utf8)
            #expect(decode(taken, pieceLength: pieceLength, limit: limit) == Decoded(lines: [longest], code: nil))
            #expect(decode(refused, pieceLength: pieceLength, limit: limit) == Decoded(lines: [], code: .lineTooLong))
        }
    }

    @Test func `a line that never ends is refused at its first byte too many`() {
        for filler in ["x", "\u{E9}"] {
            var decoder = LineDecoder(lineLengthLimit: 100)
            let endless = Array(("GET " + String(repeating: filler, count: 96)).utf8).prefix(100)
            #expect(throws: Never.self) { try decoder.decode(Array(endless).span) { _ in } }
            let code = (try? decoder.decode(Array("x".utf8).span) { _ in }) == nil
            #expect(code)
        }
        for first in [UInt8(ascii: "x"), 0xC3] {
            var decoder = LineDecoder(lineLengthLimit: 100)
            #expect(throws: Never.self) {
                try decoder.decode(Array("GET \(String(repeating: "x", count: 96))".utf8).span) { _ in }
            }
            #expect(throws: WireError.self) { try decoder.decode([first].span) { _ in } }
        }
        var decoder = LineDecoder(lineLengthLimit: 100)
        #expect(throws: Never.self) {
            try decoder.decode(Array(repeating: UInt8(ascii: "#"), count: 100).span) { _ in }
        }
        #expect(throws: WireError.self) { try decoder.decode([UInt8(ascii: "#")].span) { _ in } }
    }

    @Test func `the limit may change between two pieces`() throws {
        var decoder = LineDecoder(lineLengthLimit: 8)
        var lines: [String] = []
        try decoder.decode(Array("PING id=\n".utf8).span) { lines.append($0.string) }
        decoder.lineLengthLimit = 12
        try decoder.decode(Array("PING id=1234\n".utf8).span) { lines.append($0.string) }
        #expect(lines == ["PING id=", "PING id=1234"])
    }

    @Test func `a broken stream stays broken, and holds nothing`() throws {
        var decoder = LineDecoder()
        try decoder.decode(Array("GET a".utf8).span) { _ in }
        #expect(decoder.hasUnfinishedLine)
        #expect(throws: WireError.self) { try decoder.decode([0x00].span) { _ in } }
        #expect(!decoder.hasUnfinishedLine)
        #expect(throws: WireError.self) {
            try decoder.decode(Array("PING\n".utf8).span) { _ in Issue.record("a line after the fault") }
        }
    }

    @Test func `a client is given the comments`() throws {
        var decoder = LineDecoder(deliversComments: true)
        var lines: [String] = []
        try decoder.decode(Array("# help\n\nOK\n".utf8).span) { lines.append($0.string) }
        #expect(lines == ["# help", "OK"])
    }

    @Test func `an unfinished line is known as such`() throws {
        var decoder = LineDecoder()
        try decoder.decode(Array("PING\n".utf8).span) { _ in }
        #expect(!decoder.hasUnfinishedLine)
        try decoder.decode([UInt8(ascii: "P")].span) { _ in }
        #expect(decoder.hasUnfinishedLine)
    }

    @Test func `random bytes never trap, and every cutting gives the same`() {
        var random = SeededGenerator(seed: 1)
        let alphabet =
            Array("PING EVT a/b {\"x\":1}\r\n\n\n#".utf8) + [0x00, 0x09, 0x7F, 0xC3, 0xA9, 0xE2, 0x98, 0x95, 0xFF]
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 1...60, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            let whole = decode(bytes, pieceLength: bytes.count, limit: 24)
            for length in [1, 2, 3, 7, 33] {
                #expect(decode(bytes, pieceLength: length, limit: 24) == whole, "\(bytes) in pieces of \(length)")
            }
        }
    }

    @Test("A reader that stops is given no more, and the rest comes again", arguments: ["\n", "\r\n"], 1...9)
    func enough(ending: String, pieceLength: Int) throws {
        let text = Array(["PING id=1", "# no", "", "PING id=2", "PING id=3", ""].joined(separator: ending).utf8)
        var decoder = LineDecoder()
        var (lines, start): ([String], Int) = ([], 0)
        while start < text.count {
            let piece = text.span.extracting(start..<min(text.count, start + pieceLength))
            let taken = try decoder.decodeSome(piece) { line in
                lines.append(line.string)
                return false
            }
            #expect(taken > 0)
            start += taken
        }
        #expect(lines == ["PING id=1", "PING id=2", "PING id=3"])
        var whole = LineDecoder()
        #expect(try whole.decodeSome(text.span) { _ in false } == 9 + ending.utf8.count)
    }
}

struct Decoded: Hashable {
    var lines: [String]
    var code: ErrorCode?
}

func decode(_ bytes: [UInt8], pieceLength: Int, limit: Int = WireLimits.lineLength) -> Decoded {
    decode(
        stride(from: 0, to: bytes.count, by: pieceLength).map { Array(bytes[$0..<min(bytes.count, $0 + pieceLength)]) },
        limit: limit)
}

func decode(_ pieces: [[UInt8]], limit: Int = WireLimits.lineLength) -> Decoded {
    var decoder = LineDecoder(lineLengthLimit: limit)
    var decoded = Decoded(lines: [])
    for piece in pieces {
        do {
            try decoder.decode(piece.span) { decoded.lines.append($0.string) }
        } catch {
            decoded.code = error.code
        }
    }
    return decoded
}

extension Span<UInt8> {
    var string: String { String(decoding: indices.map { self[$0] }, as: UTF8.self) }
}
