import Testing

@testable import Simulation

struct GuestRightsTests {
    private static func rights(_ scopes: [String], _ account: String? = "alice", token: Int = 1) -> GuestRights {
        GuestRights(scopes: scopes, account: account, tokens: [(number: token, expires: nil)])
    }

    @Test(
        "Rights that only grew took nothing from a connection",
        arguments: [
            [rights(["read:order/*"])],
            [rights(["read:order/shared-1"]), rights(["read:order/*", "stats"]), rights(["read:*", "stats"])],
            [rights(["act:order/shop*", "stats"]), rights(["stats", "act:order/*"], nil)],
        ])
    func grown(rights: [GuestRights]) { #expect(GuestRights.tookNothing(rights, from: 1)) }

    @Test(
        "Rights that shrank, or another token or account, took something",
        arguments: [
            [rights(["read:order/*"], token: 2)],
            [rights(["read:*"]), rights(["read:order/*"])],
            [rights(["read:order/*"]), rights(["read:*"]), rights(["read:order/*"])],
            [rights(["stats"]), rights(["read:*"])],
            [rights(["stats"]), rights(["stats"], "bob")],
            [rights(["stats"], nil), rights(["stats"])],
        ])
    func shrunk(rights: [GuestRights]) { #expect(!GuestRights.tookNothing(rights, from: 1)) }
}
