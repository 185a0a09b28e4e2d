public import TelltaleModel

/// The content of a device token. The token itself carries it, so that nothing is stored and a test can be repeated.
///
/// The bytes are: version, type, 8 bytes of a keyed digest of all others, flags, release, and then texts with their
/// lengths.
public struct DeviceToken: Hashable, Sendable {
    public enum Subject: Hashable, Sendable {
        /// Starts activities of a kind.
        case start(app: String, kind: String)
        /// Updates and ends one activity.
        case update(Key)
    }

    public var subject: Subject
    /// The account of the device; empty for everybody's.
    public var account: String
    /// The release of iOS, as 17; 0 if unknown.
    public var release: UInt8
    /// Whether the person let the app update often, which makes the budget of priority 10 larger.
    public var isFrequent: Bool

    public init(_ subject: Subject, account: String, release: UInt8 = 0, isFrequent: Bool = false) {
        self.subject = subject
        self.account = account
        self.release = release
        self.isFrequent = isFrequent
    }

    private static let version: UInt8 = 1
    private static let tagLength = 8
    /// The longest text in it, in bytes.
    public static let textLimit = 255

    /// - Returns: Lower-case hexadecimal digits; `nil` if a text is longer than ``textLimit`` bytes.
    public func text(_ cryptography: PushCryptography) -> String? {
        var content: [UInt8] = [isFrequent ? 1 : 0, release]
        let texts: [String]
        switch subject {
        case .start(let app, let kind): texts = [app, kind, account]
        case .update(let key): texts = [key.text, account]
        }
        for text in texts {
            guard text.utf8.count <= Self.textLimit else { return nil }
            content.append(UInt8(text.utf8.count))
            content += text.utf8
        }
        let head = [Self.version, type]
        let tag = cryptography.tag(head + content).prefix(Self.tagLength)
        return Hexadecimal.text(head + tag + content)
    }

    private var type: UInt8 {
        switch subject {
        case .start: 1
        case .update: 2
        }
    }

    /// Parses a token that this installation made.
    ///
    /// - Returns: `nil` for any other text.
    public init?(_ text: some StringProtocol, _ cryptography: PushCryptography) {
        guard text.utf8.count <= 2_048, let bytes = Hexadecimal.bytes(text) else { return nil }
        let start = 2 + Self.tagLength
        guard bytes.count >= start + 2, bytes[0] == Self.version else { return nil }
        let content = Array(bytes[start...])
        let tag = cryptography.tag(Array(bytes[..<2]) + content)
        guard tag.count >= Self.tagLength else { return nil }
        var difference: UInt8 = 0
        for index in 0..<Self.tagLength { difference |= tag[index] ^ bytes[2 + index] }
        guard difference == 0, let texts = Self.texts(content[2...]) else { return nil }
        switch (bytes[1], texts.count) {
        case (1, 3): subject = .start(app: texts[0], kind: texts[1])
        case (2, 2):
            guard let key = Key(texts[0]) else { return nil }
            subject = .update(key)
        default: return nil
        }
        account = texts[texts.count - 1]
        release = content[1]
        isFrequent = content[0] & 1 == 1
    }

    private static func texts(_ bytes: ArraySlice<UInt8>) -> [String]? {
        var rest = bytes
        var texts: [String] = []
        while let count = rest.popFirst() {
            guard rest.count >= Int(count), let text = String(validating: rest.prefix(Int(count)), as: UTF8.self)
            else { return nil }
            texts.append(text)
            rest = rest.dropFirst(Int(count))
        }
        return texts
    }
}
