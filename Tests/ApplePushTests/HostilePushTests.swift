import ApplePush
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// Whatever comes in, nothing traps, and what goes to the daemon is one request of words.
struct HostilePushTests {
    @Test func `no request makes more of an event than its own words`() {
        var random = SeededGenerator(seed: 39)
        var postedCount = 0
        for _ in 0..<20_000 {
            var fixture = Fixture(
                ["device", "device", "broadcast", "channel"].randomElement(using: &random) ?? "device")
            for _ in 0..<Int.random(in: 0...2, using: &random) { Self.change(&fixture, &random) }
            var connection = ProviderConnection()
            let request = fixture.request
            var rules = Fixture.rules
            rules.policy = .shape
            let push = try? DevicePush(
                request, rules, Fixture.directory, on: &connection, now: Fixture.now, Fixture.cryptography)
            _ = try? ChannelRequest(
                request, rules, Fixture.directory, PushChannels([Fixture.channel]), on: &connection, now: Fixture.now,
                Fixture.cryptography)
            guard let push else { continue }
            let payload = try? JSONParser.parse(String(decoding: request.body, as: UTF8.self))
            guard case .post(let command, _)? = try? Fixture.outcome(payload, push.token, push.tokenText) else {
                continue
            }
            postedCount += 1
            let words = [command.source ?? "", command.eid ?? "", command.type, command.key.text] + command.accounts
            #expect(words.allSatisfy { $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }, "\(words)")
        }
        #expect(postedCount > 1_000)
    }

    private static func change(_ fixture: inout Fixture, _ random: inout SeededGenerator) {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: fixture.body = mutated(fixture.body, &random)
        case 1: fixture.path = text(mutated(Array(fixture.path.utf8), &random))
        case 2:
            guard let index = fixture.headers.indices.randomElement(using: &random) else { return }
            fixture.headers[index].value = text(mutated(Array(fixture.headers[index].value.utf8), &random))
        case 3:
            let part = ["kid", "iss", "iat", "alg"].randomElement(using: &random) ?? "iss"
            fixture.provider[part] = [
                "", "TEAM 12345", "9223372036854775807", "9000000000000000", "TEAM,12345", "-1", "TÉAM12345",
            ]
            .randomElement(using: &random)
        default:
            let word =
                ["timestamp", "event", "content-state", "status", "alert", "update", "1763719200"]
                .randomElement(using: &random) ?? ""
            let other =
                ["9007199254740991", "-9007199254740991", "{}", "[]", "null", "end", "1e300", "\\u0000"]
                .randomElement(using: &random) ?? ""
            fixture.body = Array(text(fixture.body).replacing(word, with: other).utf8)
        }
    }

    private static func mutated(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        guard let index = bytes.indices.randomElement(using: &random) else {
            return [.random(in: 0...255, using: &random)]
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = .random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(.random(in: 0...255, using: &random), at: index)
        default: bytes.removeSubrange(index...)
        }
        return bytes
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
