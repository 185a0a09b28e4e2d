/// Keys of a terminal, from its bytes: UTF-8, control characters, and the escape sequences of xterm and its like.
public struct KeyDecoder: Sendable {
    public enum Key: Hashable, Sendable {
        case character(Character)
        case enter, tab, backspace, delete, deleteToEnd, deleteToStart, deleteWord
        case left, right, up, down, home, end, pageUp, pageDown, wordLeft, wordRight
        case controlC, controlD, controlL, controlZ
    }

    private enum State {
        case ground, escape, sequence, single
        /// The beginning of a character whose rest has not arrived.
        case character(missing: Int)
    }

    private var state = State.ground
    private var bytes: [UInt8] = []

    public init() {}

    /// - Returns: `nil` if the key is incomplete or unknown.
    public mutating func decodeByte(_ byte: UInt8) -> Key? {
        switch state {
        case .ground: return ground(byte)
        case .escape:
            state = .ground
            switch byte {
            case UInt8(ascii: "["):
                (state, bytes) = (.sequence, [])
                return nil
            case UInt8(ascii: "O"):
                state = .single
                return nil
            case UInt8(ascii: "b"): return .wordLeft
            case UInt8(ascii: "f"): return .wordRight
            case 0x7F: return .deleteWord
            case _: return nil
            }
        case .single:
            state = .ground
            return Self.keys[String(UnicodeScalar(byte))]
        case .sequence:
            // Parameters, then the byte that ends it.
            guard (0x40...0x7E).contains(byte) else {
                bytes.append(byte)
                // Longer than any known sequence.
                if bytes.count > 16 { state = .ground }
                return nil
            }
            state = .ground
            return Self.keys[String(decoding: bytes + [byte], as: UTF8.self)]
        case .character(let missing):
            guard byte & 0xC0 == 0x80 else {
                state = .ground
                return ground(byte)
            }
            bytes.append(byte)
            guard missing == 1 else {
                state = .character(missing: missing - 1)
                return nil
            }
            state = .ground
            return String(validating: bytes, as: UTF8.self)?.first.map(Key.character)
        }
    }

    private mutating func ground(_ byte: UInt8) -> Key? {
        switch byte {
        case 0x1B: state = .escape
        case 0x20..<0x7F: return .character(Character(UnicodeScalar(byte)))
        case 0xC2..<0xF5:
            bytes = [byte]
            state = .character(missing: byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3)
        case _: return Self.controls[byte]
        }
        return nil
    }

    /// The letter of a control character, without its upper bits.
    private static let controls: [UInt8: Key] = [
        0x01: .home, 0x02: .left, 0x03: .controlC, 0x04: .controlD, 0x05: .end, 0x06: .right, 0x08: .backspace,
        0x09: .tab, 0x0A: .enter, 0x0B: .deleteToEnd, 0x0C: .controlL, 0x0D: .enter, 0x0E: .down, 0x10: .up,
        0x15: .deleteToStart, 0x17: .deleteWord, 0x1A: .controlZ, 0x7F: .backspace,
    ]

    private static let keys: [String: Key] = [
        "A": .up, "B": .down, "C": .right, "D": .left, "H": .home, "F": .end, "1~": .home, "7~": .home, "4~": .end,
        "8~": .end, "3~": .delete, "5~": .pageUp, "6~": .pageDown, "1;5C": .wordRight, "1;5D": .wordLeft,
        "1;3C": .wordRight, "1;3D": .wordLeft,
    ]
}
