public import TelltaleModel

/// One parameter of a kind's configuration (W79).
public struct WidgetParameter: Hashable, Sendable {
    public enum ValueType: String, CaseIterable, Hashable, Sendable {
        case text, number, flag, choice
    }

    public let name: String
    public let title: String
    public let type: ValueType
    /// The values of a choice.
    public let options: [String]
    /// The default for a value that a configuration omits.
    public let standard: JSON?

    /// The id of the only widget of a kind without parameters.
    public static let mainID = "main"

    /// Whether it accepts a value.
    public func takes(_ value: JSON) -> Bool {
        switch (type, value) {
        case (.text, .string(let text)): !text.isEmpty && text.utf8.count <= 256
        case (.choice, .string(let text)): options.contains(text)
        case (.number, .integer), (.number, .number), (.flag, .bool): true
        default: false
        }
    }

    /// The text of a value within an id.
    static func text(of value: JSON) -> String { value.string ?? value.description }

    /// The value that a text within an id stands for.
    func value(of text: String) -> JSON? {
        let value: JSON? =
            switch type {
            case .text, .choice: .string(text)
            case .number, .flag: try? JSONParser.parse(text)
            }
        guard let value, takes(value), Self.text(of: value) == text else { return nil }
        return value
    }

    /// Why a configuration is refused: the name of the parameter, and the fault.
    public struct Refusal: Error, Hashable, Sendable {
        public let name: String
        public let reason: String
    }

    /// The complete configuration: every parameter has a value.
    ///
    /// - Throws: For an unknown parameter, one without a value, or a value that it does not accept.
    public static func configuration(
        of given: JSONObject, parameters: [WidgetParameter]
    ) throws(Refusal) -> JSON {
        for member in given where !parameters.contains(where: { $0.name == member.name }) {
            throw Refusal(name: member.name, reason: "there is no parameter of this name")
        }
        var whole = JSONObject()
        for parameter in parameters {
            guard let value = given[parameter.name] ?? parameter.standard else {
                throw Refusal(name: parameter.name, reason: "it has no value, and no default")
            }
            guard parameter.takes(value) else {
                throw Refusal(name: parameter.name, reason: "it is to be \(parameter.expectation)")
            }
            whole[parameter.name] = value
        }
        return .object(whole)
    }

    var expectation: String {
        switch type {
        case .text: "a text of 1 to 256 bytes"
        case .number: "a number"
        case .flag: "true or false"
        case .choice: options.joined(separator: " or ")
        }
    }

    /// The id of a complete configuration: the same for the same values in any order (W79).
    ///
    /// If there is a single value that can be an id, it is the id; otherwise the id is `h-` and 16 hexadecimal digits.
    public static func id(of configuration: JSON, parameters: [WidgetParameter]) -> String {
        guard !parameters.isEmpty else { return mainID }
        if parameters.count == 1, let value = configuration[parameters[0].name] {
            let text = text(of: value)
            if Key.isSegment(text.utf8), !isHashed(text) { return text }
        }
        // The members of an object are written in the order of their names.
        return "h-" + Hexadecimal.text(of: StableHash.of(configuration.description))
    }

    static func isHashed(_ id: String) -> Bool {
        id.utf8.count == 18 && id.hasPrefix("h-")
            && id.utf8.dropFirst(2).allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }
}
