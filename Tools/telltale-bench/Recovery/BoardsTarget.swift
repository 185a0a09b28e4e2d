import TelltaleEventLoop

/// A daemon that takes the arrangement of boards: each connection is one account, which fills all boards that it may have.
final class BoardsTarget: IngestTarget {
    let name = "telltale"
    private let daemon: BenchDaemon
    private let firstAccount: Int

    /// As many as one account may have.
    static let boardsPerAccount = 32
    static let tilesPerBoard = 12
    static let tilesPerAccount = boardsPerAccount * tilesPerBoard
    /// The tiles show so many different widgets.
    static let widgetCount = 1_000

    /// Widgets whose content a provider gives, one for each configuration; none is there.
    private static let kind = """
        {"kind": "shop", "type": "widget", "version": 1, "app": "com.example.bench", "title": "Shop",
         "families": ["systemSmall"], "source": {"provider": true}, "parameters": {"shop": {"title": "Shop"}},
         "views": {"systemSmall": {"title": "{{config.shop}}", "subtitle": "{{content.open}}"}}}
        """

    init(_ daemon: BenchDaemon, firstAccount: Int = 0) {
        (self.daemon, self.firstAccount) = (daemon, firstAccount)
    }

    static func makeFolder(_ path: String) throws -> BenchFolder { try BenchFolder(path, kinds: ["shop.json": kind]) }

    var process: ServerProcess { daemon.process }
    var endpoint: Endpoint { daemon.endpoint }

    func opening(_ connection: Int) -> [UInt8] { Array("HELLO account=a\(firstAccount + connection)\n".utf8) }

    /// Four tiles of each board stand in a stack.
    func append(_ number: Int, connection: Int, to bytes: inout [UInt8]) {
        let account = firstAccount + connection
        let board = account * Self.boardsPerAccount + number / Self.tilesPerBoard
        let tile = number % Self.tilesPerBoard
        let shop = (account * 37 + number) % Self.widgetCount
        let stack = tile < 4 ? " stack=left" : ""
        bytes +=
            "TILE @b\(board)/t\(tile) do=add widget=shop\(stack) {\"configuration\":{\"shop\":\"s\(shop)\"}}\n".utf8
    }

    func meaning(of line: Span<UInt8>) -> IngestAnswer {
        if line.has("OK verdict=applied ", at: 0) { return .acknowledged }
        return line.has("ERR ", at: 0) ? .refused : .nothing
    }
}
