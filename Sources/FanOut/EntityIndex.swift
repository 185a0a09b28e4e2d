/// A key's position in the hub's tables: small, dense, and valid within this process only.
public struct EntityIndex: Hashable, Comparable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: EntityIndex, right: EntityIndex) -> Bool { left.rawValue < right.rawValue }
}

/// A subscription's position in the hub's tables.
public struct SubscriptionIndex: Hashable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }
}

/// Subscripts by index. Indices count up from 0, so the conversion to `Int` cannot fail.
extension Array {
    public subscript(_ index: EntityIndex) -> Element {
        _read { yield self[Int(index.rawValue)] }
        _modify { yield &self[Int(index.rawValue)] }
    }
}
