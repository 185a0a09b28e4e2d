import Testing

@testable import Machines

struct DismissersTests {
    @Test(
        "digests are those of FIPS 180-4",
        arguments: [
            ("", 0xe3b0_c442_98fc_1c14), ("abc", 0xba78_16bf_8f01_cfea),
            ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0x248d_6a61_d206_38b8),
            (String(repeating: "a", count: 200), 0xc2a908d98f5df987),
        ] as [(String, UInt64)])
    func digest(_ account: String, _ digest: UInt64) { #expect(Dismissers.digest(of: account) == digest) }

    @Test func `each account is there once, in order, whatever the order in which they came`() {
        var (forward, backward) = (Dismissers(), Dismissers())
        for number in 0..<2_000 {
            forward.insert("a\(number)")
            forward.insert("a\(number / 2)")
            backward.insert("a\(1_999 - number)")
        }
        #expect(forward.count == 2_000 && forward.combined == backward.combined)
        #expect(
            Array(forward.elements) == Array(forward.elements).sorted()
                && forward.elements.elementsEqual(backward.elements))
        #expect((0..<2_000).allSatisfy { forward.contains("a\($0)") } && !forward.contains("a2000"))
        #expect(!Dismissers().contains("") && Dismissers().isEmpty)
    }
}
