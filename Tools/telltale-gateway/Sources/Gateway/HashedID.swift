internal import TelltaleCrypto
internal import TelltaleModel

/// Event ids derived from what was received, so that a repeat has the same id.
enum HashedID {
    /// `sha256:` and 64 hexadecimal digits.
    static func make(_ parts: [UInt8]...) -> String {
        var hash = SHA256()
        for (index, part) in parts.enumerated() {
            // Separates the texts, so that different lists never hash the same bytes.
            if index > 0 { hash.update([0]) }
            hash.update(part)
        }
        return "sha256:" + Hexadecimal.text(hash.digest())
    }
}
