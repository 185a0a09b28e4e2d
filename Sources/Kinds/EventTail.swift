package import TelltaleModel

/// The JSON tail of an event, under Apple's push names.
package enum EventTail {
    /// The known members of an event; others are dropped.
    package static let members: Set<String> = [
        "attributes", "content-state", "alert", "stale-date", "dismissal-date", "start-date", "relevance-score",
    ]

    /// The names of unknown members, in their order.
    package static func unknownMembers(of tail: JSONObject) -> [String] {
        tail.map(\.name).filter { !members.contains($0) }
    }
}
