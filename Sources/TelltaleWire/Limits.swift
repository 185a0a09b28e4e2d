/// The limits that the protocol defines (Protocols/Line/line-protocol.md §11), in bytes unless a name says otherwise.
public enum WireLimits {
    /// The longest line, without its line ending; written in the greeting.
    public static let lineLength = 65_536
    /// The longest line before `HELLO` is answered, on a server with authentication.
    public static let lineLengthBeforeHello = 4096
    /// The longest value of an attribute.
    public static let valueLength = 256
    /// The longest `id=`.
    public static let idLength = 64
    /// The most names in the JSON tail of a request, those of nested objects included.
    public static let tailNameCount = 2_048
    /// The longest event name.
    public static let eventNameLength = 64
    /// The longest attribute name.
    public static let attributeNameLength = 16
    /// The shortest and the longest verb, in letters.
    public static let verbLength = 2...12
}
