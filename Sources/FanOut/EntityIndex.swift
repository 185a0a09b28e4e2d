/// A key's place in the hub's tables: small, dense, and good for this process alone.
public struct EntityIndex: Hashable, Comparable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: EntityIndex, right: EntityIndex) -> Bool { left.rawValue < right.rawValue }
}

/// A subscription's place in the hub's tables.
public struct SubscriptionIndex: Hashable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }
}

/// A place in an array by such an index. Positions are handed out from 0, so the conversion cannot fail.
extension Array {
    public subscript(_ index: EntityIndex) -> Element {
        _read { yield self[Int(index.rawValue)] }
        _modify { yield &self[Int(index.rawValue)] }
    }
}
