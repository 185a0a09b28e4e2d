internal import TelltaleModel

/// A subject on which the server does not let this node publish, or to which it may not subscribe.
struct Denial: Hashable, Sendable {
    /// For people: `publish on tt.shop.log`.
    let text: String
    /// The subject on which this node may not publish; `nil` for a subscription.
    let published: String?

    /// - Parameter words: The server's text: `Permissions Violation for Publish to "tt.shop.log"`.
    init(_ words: String) {
        let words = String(words.prefix(256)).harmless
        let parts = words.split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count >= 2 else {
            (text, published) = ("do something: \(words)", nil)
            return
        }
        let isPublish = parts[0].lowercased().contains("publish")
        text = "\(isPublish ? "publish on" : "subscribe to") \(parts[1])"
        published = isPublish ? String(parts[1]) : nil
    }
}

/// What the server has denied, and is not known to have allowed since.
struct Denials {
    private(set) var all: [Denial] = []

    private static let limit = 16

    var texts: [String] { all.map(\.text) }

    func contains(publishOn subject: String) -> Bool { all.contains { $0.published == subject } }

    /// - Returns: Whether it is new.
    mutating func add(_ denial: Denial) -> Bool {
        guard !all.contains(denial), all.count < Self.limit else { return false }
        all.append(denial)
        return true
    }

    /// A message published on the subject was answered.
    ///
    /// - Returns: Whether it was denied before.
    mutating func allow(publishOn subject: String) -> Bool { keep { $0.published != subject } }

    /// Forgets denials after a reconnect, because another connection may have other rights.
    ///
    /// - Parameter subjects: The subjects to keep, because they are tried again soon and the answer will show.
    /// - Returns: Whether a denial was forgotten.
    mutating func forget(except subjects: [String]) -> Bool {
        keep { denial in denial.published.map(subjects.contains) ?? false }
    }

    private mutating func keep(_ isKept: (Denial) -> Bool) -> Bool {
        let count = all.count
        all.removeAll { !isKept($0) }
        return all.count != count
    }
}
