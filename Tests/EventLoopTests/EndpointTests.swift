import TelltaleEventLoop
import Testing

struct EndpointTests {
    @Test(
        "An address reads back as it was written",
        arguments: [
            ("127.0.0.1:7878", Endpoint.tcp(host: "127.0.0.1", port: 7878)),
            ("localhost:0", .tcp(host: "localhost", port: 0)),
            ("[::1]:7878", .tcp(host: "::1", port: 7878)),
            ("unix:/run/telltale.sock", .unix(path: "/run/telltale.sock")),
        ])
    func roundTrip(_ example: (text: String, endpoint: Endpoint)) {
        #expect(Endpoint(example.text) == example.endpoint)
        #expect(example.endpoint.description == example.text)
    }

    @Test(
        "What is no address is refused",
        arguments: [
            "", "7878", ":7878", "host:", "host:65536", "host:+1", "host:-1", "::1:7878", "[]:1", "unix:", "h:1x",
        ])
    func refused(_ text: String) {
        #expect(Endpoint(text) == nil)
    }

    @Test(
        "Only loopback and Unix sockets are local",
        arguments: [
            ("127.0.0.1:1", true), ("127.8.9.10:1", true), ("[::1]:1", true), ("localhost:1", true), ("unix:x", true),
            ("0.0.0.0:1", false), ("[::]:1", false), ("10.0.0.1:1", false), ("127.0.0.1.example.com:1", false),
        ])
    func local(_ example: (text: String, isLocal: Bool)) throws {
        #expect(try #require(Endpoint(example.text)).isLocal == example.isLocal)
    }

    @Test func `a list has up to sixteen addresses, each of which is one`() throws {
        let list = try #require(EndpointList("127.0.0.1:1,unix:/run/x,[::1]:2"))
        #expect(list.endpoints.count == 3 && list.first == .tcp(host: "127.0.0.1", port: 1))
        #expect(list.description == "127.0.0.1:1,unix:/run/x,[::1]:2")
        for text in ["", "a:1,", ",a:1", "a:1,b", Array(repeating: "a:1", count: 17).joined(separator: ",")] {
            #expect(EndpointList(text) == nil, "\(text)")
        }
        #expect(EndpointList([]) == nil)
    }
}
