/// The names in a request that the server does not know, for `ignored=` in the reply.
///
/// Invariant: joined by commas, ``names`` fit in one value (``WireLimits/valueLength``), and each is visible ASCII.
public struct IgnoredNames: Hashable, Sendable {
    public private(set) var names: [String] = []
    /// The length of all names, each with its comma.
    private var length = 0

    public init() {}

    /// Continues a list.
    public init(_ names: [String]) {
        for name in names { append(name) }
    }

    /// Appends a name that is visible ASCII without a comma. A name that stands in the list, or for which the list has no
    /// room, is dropped.
    public mutating func append(_ name: String) {
        // The length is checked first: a line may hold thousands of names, and a full list saves comparing them.
        guard length + name.utf8.count + 1 <= WireLimits.valueLength, !names.contains(name) else { return }
        length += name.utf8.count + 1
        names.append(name)
    }

    /// Appends the name of a member of a JSON object, which may be any text: a byte that is not visible ASCII, and a
    /// comma, become `?`. An empty name becomes `-`, and a name of more than 64 bytes is cut.
    public mutating func append(member name: String) { append(Self.text(of: name)) }

    /// The name of a member as the list has it.
    public static func text(of member: String) -> String {
        guard !member.isEmpty else { return "-" }
        let bytes = member.utf8.prefix(64).map { byte in
            byte.isVisibleASCII && byte != UInt8(ascii: ",") ? byte : UInt8(ascii: "?")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
