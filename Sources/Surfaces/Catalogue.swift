/// Screens and displays that the server knows by name (apple-domain.md 3.7, 7.1, 7.6, 7.8, 8a).
public enum Catalogue {
    /// A device that a `HELLO device=` may name.
    public struct Device: Hashable, Sendable {
        /// `iphone-15-pro`: lower case, words joined by hyphens.
        public var name: String
        /// In points, upright for what is held upright.
        public var width: Int
        public var height: Int
        public var hasIsland: Bool

        /// `canvas=` of the `OK`: `393x852`.
        public var canvas: String { "\(width)x\(height)" }
    }

    public static func device(named name: String) -> Device? { nil }
}
