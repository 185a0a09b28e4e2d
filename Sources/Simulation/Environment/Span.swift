internal import Kinds
public import TelltaleModel

extension Milliseconds {
    /// A duration as kinds and scenarios write it: `250ms`, `30s`, `10m`, or ISO 8601.
    public init?(span text: String) {
        self.init(duration: text)
    }
}
