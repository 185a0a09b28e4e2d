public import TelltaleModel

extension Timestamp {
    /// A date as ISO 8601 writes it: `2018-06-12T20:07:44`, with a fraction and a zone or without; a space may stand
    /// for the `T`. Without a zone it is taken as UTC: only differences matter to a replay.
    ///
    /// `nil` for anything else, the 30th of February included.
    public init?(iso8601 text: String) {
        guard let date = DateText(text), date.hasSeconds else { return nil }
        self = date.time
    }
}
