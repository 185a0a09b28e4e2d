internal import TelltaleModel

/// The server does not let this node publish on a subject, or subscribe to one.
struct Denial: Hashable, Sendable {
    /// For people: `publish on tt.shop.log`.
    let text: String
    /// The subject that it may not publish on; `nil` for a subscription.
    let published: String?

    /// - Parameter words: As the server says it: `Permissions Violation for Publish to "tt.shop.log"`.
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

/// What the server has denied and was not seen to allow since then.
struct Denials {
    private(set) var all: [Denial] = []

    private static let limit = 16

    var texts: [String] { all.map(\.text) }

    func contains(publishOn subject: String) -> Bool { all.contains { $0.published == subject } }

    /// - Returns: Whether it is news.
    mutating func add(_ denial: Denial) -> Bool {
        guard !all.contains(denial), all.count < Self.limit else { return false }
        all.append(denial)
        return true
    }

    /// What was published there was answered.
    ///
    /// - Returns: Whether it was denied before.
    mutating func allow(publishOn subject: String) -> Bool { keep { $0.published != subject } }

    /// Another connection may have other rights.
    ///
    /// - Parameter subjects: Those on which it is tried again soon, so that the answer tells.
    /// - Returns: Whether something was denied that is not known to be denied any more.
    mutating func forget(except subjects: [String]) -> Bool {
        keep { denial in denial.published.map(subjects.contains) ?? false }
    }

    private mutating func keep(_ isKept: (Denial) -> Bool) -> Bool {
        let count = all.count
        all.removeAll { !isKept($0) }
        return all.count != count
    }
}
