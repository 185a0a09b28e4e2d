import ApplePush
import TelltaleModel
import Testing

/// The requests about channels that a sender makes, given to the endpoint that takes them.
struct ChannelManagementTests {
    private func taken(_ request: ChannelManagement) throws -> ChannelRequest {
        var fixture = Fixture("channel")
        (fixture.method, fixture.path) = (request.method, request.path(bundle: Fixture.bundle))
        (fixture.headers, fixture.body) = (request.headers, request.body)
        var connection = ProviderConnection()
        return try ChannelRequest(
            fixture.request, Fixture.rules, Fixture.directory, PushChannels([Fixture.channel]), on: &connection,
            now: Fixture.now, Fixture.cryptography)
    }

    @Test func `the endpoint takes each request for what it is`() throws {
        #expect(
            try taken(.create(storagePolicy: 1)) == ChannelRequest.create(bundle: Fixture.bundle, storagePolicy: 1))
        #expect(try taken(.read(Fixture.channel.id)) == ChannelRequest.read(Fixture.channel))
        #expect(try taken(.delete(Fixture.channel.id)) == ChannelRequest.delete(Fixture.channel))
        #expect(try taken(.list) == ChannelRequest.list(bundle: Fixture.bundle))
    }

    private static let body: JSON = ["message-storage-policy": 1, "push-type": "LiveActivity"]

    @Test(
        arguments: [
            (ChannelManagement.create(storagePolicy: 0), 201, "YQ==", nil, ChannelManagement.Outcome.created("YQ==")),
            (.create(storagePolicy: 0), 201, nil, nil, .unreadable(status: 201)),
            (
                .create(storagePolicy: 0), 400, nil, ["reason": "CannotCreateChannelConfig"],
                .refused(status: 400, reason: "CannotCreateChannelConfig")
            ),
            (.read("YQ=="), 200, nil, body, .channel(storagePolicy: 1)),
            (.read("YQ=="), 200, nil, ["push-type": "LiveActivity"], .unreadable(status: 200)),
            (.list, 200, nil, nil, .unreadable(status: 200)),
            (.read("YQ=="), 400, nil, ["reason": "ChannelNotRegistered"], .unknownChannel),
            (.delete("YQ=="), 204, nil, nil, .deleted),
            (.delete("YQ=="), 400, nil, ["reason": "BadChannelId"], .unknownChannel),
            (.list, 200, nil, ["channels": ["YQ==", "Yg=="]], .channels(["YQ==", "Yg=="])),
            (.list, 429, nil, ["reason": "TooManyRequests"], .busy(status: 429)),
            (.list, 503, nil, nil, .busy(status: 503)),
            (
                .list, 403, nil, ["reason": "InvalidProviderToken"],
                .refused(status: 403, reason: "InvalidProviderToken")
            ),
        ] as [(ChannelManagement, Int, String?, JSON?, ChannelManagement.Outcome)])
    func `each answer says one thing`(
        _ request: ChannelManagement, _ status: Int, _ channel: String?, _ body: JSON?,
        _ outcome: ChannelManagement.Outcome
    ) {
        #expect(request.outcome(status: status, channel: channel, body: body) == outcome)
    }
}
