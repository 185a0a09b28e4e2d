import TestSupport
import Testing

@testable import TelltaleEventLoop

struct PeerAddressTests {
    private static func address(_ host: String) -> PeerAddress {
        PeerAddress(SocketAddress(literal: host, port: 1))
    }

    @Test(
        "A peer is one address, or one network of IPv6",
        arguments: [
            ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false), ("10.0.0.1", "::ffff:10.0.0.1", true),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.2", false), ("2001:db8::1", "2001:db8::ffff:0:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false), ("::1", "::2", true), ("::", "0.0.0.0", false),
        ])
    func same(first: String, second: String, isOne: Bool) {
        #expect((Self.address(first) == Self.address(second)) == isOne)
        #expect(Self.address(first) != PeerAddress(nil))
    }

    @Test func `a connection knows the address of its peer, and one that is closed knows none`() async throws {
        let addresses: [PeerAddress] = try await onLoop { loop in
            let addresses = Box<[PeerAddress]>([])
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                addresses.value.append(connection.peerAddress)
                connection.close()
                addresses.value.append(connection.peerAddress)
                loop.stop()
            }
            let peer = try RawSocket(port: listener.port)
            return { withExtendedLifetime((peer, listener)) { addresses.value } }
        }
        #expect(addresses == [Self.address("127.0.0.1"), PeerAddress(nil)])
    }
}
