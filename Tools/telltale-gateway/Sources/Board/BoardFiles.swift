internal import CGatewayFiles
internal import TelltaleCrypto

/// The board: the page that the gateway serves to browsers, and its files. All of them are embedded in the program.
public enum BoardFiles {
    /// Changes with any file. It is part of every path but the page's, so that browsers may cache those files for ever.
    public static let version: String = {
        var hash = SHA256()
        for source in sources {
            hash.update(source.name.utf8)
            hash.update(source.bytes)
        }
        return BoardFile.hex(hash.digest().prefix(6))
    }()

    /// The only page, which draws what its path names.
    public static let page = makePage()
    /// The same with a link to the received pushes.
    public static let pageWithReceived = makePage(pushes: "/pushes")
    /// The same with a link to the sent pushes.
    public static let pageWithSent = makePage(pushes: "/sent")

    /// Pages to copy.
    public static let examples = makePage("showcase.html")

    private static func makePage(_ name: String = "page.html", pushes path: String? = nil) -> BoardFile {
        let link = path.map { "<a href=\"\($0)\">Pushes</a>" } ?? ""
        let text = String(decoding: all.first { $0.name == name }?.bytes ?? [], as: UTF8.self)
            .replacing("VERSION", with: version).replacing("PUSHES", with: link)
        return BoardFile(type: "text/html; charset=utf-8", bytes: Array(text.utf8))
    }

    /// The other files, by their names.
    public static let files: [String: BoardFile] = Dictionary(
        uniqueKeysWithValues: sources.map { ($0.name, BoardFile(type: $0.type, bytes: $0.bytes)) })

    /// The page may load nothing from elsewhere, and runs no inline scripts or styles.
    public static let contentSecurityPolicy =
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

    private static let all: [(name: String, bytes: [UInt8])] = (0..<telltale_gateway_file_count()).map {
        let file = telltale_gateway_file_at($0)
        return (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    }

    private static let sources: [(name: String, type: String, bytes: [UInt8])] = all.compactMap { file in
        switch file.name.split(separator: ".").last {
        case "js": (file.name, "text/javascript; charset=utf-8", file.bytes)
        case "css": (file.name, "text/css; charset=utf-8", file.bytes)
        case "json": (file.name, "application/json", file.bytes)
        case "svg": (file.name, "image/svg+xml", file.bytes)
        // Pages are made from their files.
        default: nil
        }
    }
}
