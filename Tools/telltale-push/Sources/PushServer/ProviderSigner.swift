internal import ApplePush
internal import TelltaleCrypto
internal import TelltaleModel

/// Makes the provider tokens of one team: a new one after 50 minutes, and never two within 20.
///
/// For one event loop, whose connections share it.
final class ProviderSigner: @unchecked Sendable {
    private let team: String
    private let keyID: String
    private let key: P256Key
    private var schedule = ProviderTokenSchedule()
    private var newest = ""

    /// - Throws: If the text is not a private key of P-256 in PEM, such as an AuthKey….p8.
    init(team: String, keyID: String, pem: String) throws {
        self.team = team
        self.keyID = keyID
        key = try P256Key.privateKey(pem: pem)
    }

    func token(at now: Timestamp) -> String {
        if schedule.renews(at: now) {
            let input = ProviderTokenSchedule.signingInput(team: team, keyID: keyID, at: now)
            // Signing cannot fail: a P-256 key signs any bytes.
            if let signature = try? key.signature(of: Array(input.utf8)) {
                newest = ProviderTokenSchedule.token(input, signature: signature)
            }
        }
        return newest
    }

    /// The service said that the newest token has expired.
    func refused() { schedule.refused() }
}
