public import TelltaleModel

/// Changes to files and values that a reader must survive. The same generator gives the same changes.
public enum Mutation {
    /// A byte is changed, a piece is cut, doubled or put in, or the end is cut off.
    public static func change(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let position = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, position + Int.random(in: 1...40, using: &random))
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(position..<end)
        case 2: bytes.insert(contentsOf: bytes[position..<end], at: position)
        case 3: bytes.removeSubrange(position...)
        default: bytes.insert(Array("\"{}[]:,0-\\".utf8).randomElement(using: &random) ?? 0, at: position)
        }
    }

    /// A value and every value inside it.
    public static func values(in value: JSON) -> [JSON] {
        switch value {
        case .object(let object): [value] + object.flatMap { values(in: $0.value) }
        case .array(let elements): [value] + elements.flatMap { values(in: $0) }
        case .null, .bool, .integer, .number, .string: [value]
        }
    }

    /// One value somewhere in `value` becomes another.
    public static func replacing(_ value: JSON, with other: JSON, _ random: inout SeededGenerator) -> JSON {
        if Int.random(in: 0..<6, using: &random) == 0 { return other }
        switch value {
        case .object(var object):
            guard let member = Array(object).randomElement(using: &random) else { return other }
            object[member.name] = replacing(member.value, with: other, &random)
            return .object(object)
        case .array(var elements):
            guard let index = elements.indices.randomElement(using: &random) else { return other }
            elements[index] = replacing(elements[index], with: other, &random)
            return .array(elements)
        case .null, .bool, .integer, .number, .string: return other
        }
    }
}
