import TelltaleNIOClient
import Testing

struct DaemonAddressTests {
    @Test(arguments: [
        ("unix:/run/x.sock", DaemonAddress.unix(path: "/run/x.sock")), ("/run/x.sock", .unix(path: "/run/x.sock")),
        ("unix:x", .unix(path: "x")), ("127.0.0.1:7878", .tcp(host: "127.0.0.1", port: 7878)),
        ("[::1]:1", .tcp(host: "::1", port: 1)), ("tls://a.example:7879", .tls(host: "a.example", port: 7879)),
    ])
    func `an address is read, and written as it was read`(text: String, address: DaemonAddress) {
        #expect(DaemonAddress(text) == address)
        #expect(DaemonAddress(address.description) == address)
    }

    @Test(arguments: [
        "", "unix:", "x", "x:", ":1", "x:0", "x:65536", "x:-1", "::1:1", "tls://", "tls://x", "http://x:1", "a b:1",
    ])
    func `what is no address is none`(text: String) { #expect(DaemonAddress(text) == nil) }
}
