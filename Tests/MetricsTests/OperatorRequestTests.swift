import TelltaleMetrics
import TestSupport
import Testing

/// Requests on an operator's listener.
struct OperatorRequestTests {
    private func read(_ text: String) -> OperatorRequest.Reading { OperatorRequest.read(Array(text.utf8)) }

    private func status(_ text: String) -> Int? {
        guard case .refused(let response) = read(text) else { return nil }
        return response.status
    }

    @Test func `each page is read, with a token and a format`() {
        #expect(read("GET /healthz HTTP/1.1\r\n\r\n") == .request(OperatorRequest(page: .health)))
        #expect(read("GET /readyz?verbose HTTP/1.0\n\n") == .request(OperatorRequest(page: .readiness)))
        var metrics = OperatorRequest(page: .metrics)
        (metrics.isHead, metrics.token, metrics.format) = (true, "tt_a_b", .openMetrics)
        let text =
            "HEAD /metrics HTTP/1.1\r\nHost: x\r\nACCEPT: application/openmetrics-text;version=1.0.0,text/plain\r\nauthorization: Bearer tt_a_b\r\n\r\nmore"
        #expect(read(text) == .request(metrics))
    }

    @Test func `a request that comes byte by byte is read at its last one`() {
        let bytes = Array("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        for count in 0..<bytes.count { #expect(OperatorRequest.read(Array(bytes[..<count])) == .incomplete) }
        #expect(OperatorRequest.read(bytes) == .request(OperatorRequest(page: .metrics)))
    }

    @Test(
        "What is no such request is refused with what to do",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 404), ("GET /metrics/ HTTP/1.1\r\n\r\n", 404),
            ("POST /metrics HTTP/1.1\r\n\r\n", 405), ("get /metrics HTTP/1.1\r\n\r\n", 405),
            ("GET /metrics\r\n\r\n", 400), ("GET /metrics HTTP/2\r\n\r\n", 400), ("HELLO client=a\n\n", 400),
            ("GET metrics HTTP/1.1\r\n\r\n", 400), ("\r\n\r\n", 400), ("\u{0}\u{FF}\n\n", 400),
            ("GET /metrics HTTP/1.1\r\nX: " + String(repeating: "x", count: 5_000), 431),
        ])
    func refused(text: String, status: Int) { #expect(self.status(text) == status) }

    @Test func `random bytes make nothing trap`() {
        var seed: UInt64 = 7
        for length in 0..<400 {
            let bytes = (0..<length).map { _ -> UInt8 in
                seed = seed &* 6_364_136_223_846_793_005 &+ 1
                return [UInt8(seed >> 56), 10, 13, 32, 58][Int(seed >> 40) % 5]
            }
            _ = OperatorRequest.read(bytes)
        }
    }

    @Test func `a response has its length, and HEAD no body`() {
        var response = OperatorResponse(405, text: "né\n")
        response.headers = [("Allow", "GET, HEAD")]
        let text = String(decoding: response.bytes(), as: UTF8.self)
        #expect(
            text
                == "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 4\r\nCache-Control: no-store\r\nConnection: close\r\n\r\nné\n"
        )
        #expect(String(decoding: response.bytes(isHead: true), as: UTF8.self) + "né\n" == text)
    }
}
