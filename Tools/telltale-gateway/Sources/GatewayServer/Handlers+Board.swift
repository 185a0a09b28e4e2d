internal import Board
internal import Gateway
internal import HTTPTypes
internal import Hummingbird

extension GatewayResponder {
    /// The board's page. At an entity's path a browser gets the page, while a program gets the path of the API.
    func boardPage(_ caller: Caller, of values: [String] = []) throws(Problem) -> Response {
        guard Acceptance.choose(caller.request.headers[values: .accept], of: ["text/html"]) != nil else {
            let place = values.count == 2 ? "/v1/entities/\(values[0])/\(values[1])" : "/v1/entities"
            throw Problem("not_acceptable", "this is a page for browsers; the same as JSON is \(place)")
        }
        let page =
            gateway.forwarder != nil
            ? BoardFiles.pageWithSent : gateway.pushes != nil ? BoardFiles.pageWithReceived : BoardFiles.page
        return document(page, caller)
    }

    /// Pages to copy: an order in a shop, a kitchen, a menu bar.
    func examplesPage(_ caller: Caller) throws(Problem) -> Response {
        guard gateway.hasExamples else {
            throw Problem("not_found", "the examples are off; start the gateway with --examples on")
        }
        guard Acceptance.choose(caller.request.headers[values: .accept], of: ["text/html"]) != nil else {
            throw Problem("not_acceptable", "this is a page for browsers")
        }
        return document(BoardFiles.examples, caller)
    }

    private func document(_ page: BoardFile, _ caller: Caller) -> Response {
        var response = boardFile(page, caller, caching: "no-cache")
        response.headers[.contentSecurityPolicy] = BoardFiles.contentSecurityPolicy
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    /// One of the files beside the page. A path with another version is answered, but must not be cached.
    func boardAsset(_ values: [String], _ caller: Caller) throws(Problem) -> Response {
        guard let file = BoardFiles.files[values[1]] else {
            throw Problem("not_found", "the board has no file \(values[1].prefix(100))")
        }
        let isCurrent = values[0] == BoardFiles.version
        return boardFile(file, caller, caching: isCurrent ? "public, max-age=31536000, immutable" : "no-cache")
    }

    func boardFile(_ file: BoardFile, _ caller: Caller, caching: String) -> Response {
        let compressed = Acceptance.takesGzip(caller.request.headers[values: .acceptEncoding]) ? file.compressed : nil
        let tag = compressed == nil ? file.tag : file.compressedTag
        var fields = [
            HTTPField(name: .eTag, value: tag), HTTPField(name: .cacheControl, value: caching),
            HTTPField(name: .vary, value: "Accept-Encoding"),
        ]
        if let field = caller.field(.ifNoneMatch), EntityTag.matches(field, tag) { return .empty(304, fields) }
        if compressed != nil { fields.append(HTTPField(name: .contentEncoding, value: "gzip")) }
        return .json(compressed ?? file.bytes, type: file.type, fields)
    }
}
