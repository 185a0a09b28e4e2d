import TelltaleNIOClient
import Testing

struct DaemonAddressTests {
    @Test(arguments: [
        ("unix:/run/x.sock", DaemonSocket.unix(path: "/run/x.sock")), ("/run/x.sock", .unix(path: "/run/x.sock")),
        ("unix:x", .unix(path: "x")), ("127.0.0.1:7878", .tcp(host: "127.0.0.1", port: 7878)),
        ("[::1]:1", .tcp(host: "::1", port: 1)), ("tls://a.example:7879", .tls(host: "a.example", port: 7879)),
    ])
    func `an address is read, and written as it was read`(text: String, address: DaemonSocket) {
        #expect(DaemonSocket(text) == address)
        #expect(DaemonSocket(address.description) == address)
    }

    @Test(arguments: [
        "", "unix:", "x", "x:", ":1", "x:0", "x:65536", "x:-1", "::1:1", "tls://", "tls://x", "http://x:1", "a b:1",
    ])
    func `what is no address is none`(text: String) { #expect(DaemonSocket(text) == nil) }

    @Test func `a list is of addresses, all encrypted or none`() {
        #expect(DaemonSocket.list("a:1,unix:/x")?.map(\.description) == ["a:1", "unix:/x"])
        #expect(DaemonSocket.list("tls://a:1,tls://b:2")?.count == 2)
        for text in ["", "a:1,", "a:1,tls://b:1", Array(repeating: "a:1", count: 17).joined(separator: ",")] {
            #expect(DaemonSocket.list(text) == nil, "\(text)")
        }
    }

    @Test func `connectors of one list begin at each of its addresses, with all of their connections`() throws {
        let list = try #require(DaemonSocket.list("a:1,b:1,c:1"))
        for number in 0..<3 {
            let connector = try DaemonConnector(to: list, random: UInt64(number))
            #expect(connector.addresses == Array(list[number...]) + Array(list[..<number]))
            #expect(connector.choice.address == list[number])
        }
    }

    @Test func `a stream goes where the others are served, and on where its server is down`() throws {
        let list = try #require(DaemonSocket.list("a:1,b:1,c:1"))
        let choice = try DaemonConnector(to: list, random: 0).choice
        #expect(choice.address == list[0])
        choice.isServed(at: "c:1")
        #expect(choice.address == list[2])
        // Another stream was quicker to find out.
        choice.failed(list[1])
        #expect(choice.address == list[2])
        choice.failed(list[2])
        #expect(choice.address == list[0])
        choice.redirected(from: list[0], to: "x:9")
        #expect(choice.address == .tcp(host: "x", port: 9))
        // Each of a node's connections is sent to another address: the first one counts.
        choice.redirected(from: list[0], to: "b:1")
        #expect(choice.address == .tcp(host: "x", port: 9))
    }
}
