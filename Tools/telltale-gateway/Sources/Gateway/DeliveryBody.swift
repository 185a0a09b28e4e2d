internal import TelltaleModel

/// A delivery's body as JSON.
enum DeliveryBody {
    /// Shops number orders beyond 2^53, which I-JSON has no exact number for: such integers become texts of their digits.
    ///
    /// - Throws: `bad_json`.
    static func parse(_ bytes: [UInt8]) throws(Problem) -> JSON {
        try EventRequest.json(quotingLargeIntegers(bytes).span)
    }

    /// Integers of 16 digits and more, in quotes. What is no JSON stays none.
    static func quotingLargeIntegers(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 64)
        var index = 0
        var isInText = false
        while index < bytes.count {
            let byte = bytes[index]
            if isInText {
                result.append(byte)
                index += 1
                if byte == UInt8(ascii: "\\"), index < bytes.count {
                    result.append(bytes[index])
                    index += 1
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
            } else if byte == UInt8(ascii: "-") || isDigit(byte) {
                var end = index + 1
                while end < bytes.count, isNumberByte(bytes[end]) { end += 1 }
                let number = bytes[index..<end]
                let isInteger = number.dropFirst(byte == UInt8(ascii: "-") ? 1 : 0).allSatisfy(isDigit)
                let isLarge = isInteger && number.count >= 16
                if isLarge { result.append(UInt8(ascii: "\"")) }
                result += number
                if isLarge { result.append(UInt8(ascii: "\"")) }
                index = end
            } else {
                isInText = byte == UInt8(ascii: "\"")
                result.append(byte)
                index += 1
            }
        }
        return result
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isNumberByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
            || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
    }
}
