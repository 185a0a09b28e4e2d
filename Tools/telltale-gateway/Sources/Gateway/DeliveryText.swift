internal import Kinds
internal import TelltaleModel
internal import TelltaleStatechart

/// The input of a hook's templates and guards: a delivery's body and its header fields, by their names in lower case.
public struct DeliveryValues: Sendable {
    var context: TemplateContext
    var values: MachineValues

    init?(body: JSON, headers: [String: String]) {
        guard let key = Key("-/-") else { return nil }
        var fields = JSONObject()
        for (name, value) in headers { fields[name] = .string(value) }
        context = TemplateContext(
            key: key, attributes: .object(fields), content: body, stateKey: "", stateTitle: "", progress: nil)
        values = MachineValues(attributes: .object(fields), content: body)
    }
}

/// The kinds' templates, over `body.` and `header.`.
///
/// Reuses the kinds' parser and filters: a delivery's body takes the place of an activity's content, and the header
/// fields that of its attributes.
struct DeliveryTemplate: Sendable {
    let template: Template
    /// The paths below `body` that it reads.
    private(set) var bodyPaths: [[Substring]] = []

    /// - Throws: A sentence that describes the fault.
    init(_ text: String) throws(HookFault) {
        let translated = try Self.translate(text, &bodyPaths)
        do {
            template = try Template(translated)
        } catch {
            throw HookFault(error.reason)
        }
    }

    func text(_ delivery: DeliveryValues) -> String { template.rendered(in: delivery.context) }

    func value(_ delivery: DeliveryValues) -> JSON? { template.value(in: delivery.context) }

    /// Replaces the root of each path after `{{` by the one that the kinds' templates know.
    private static func translate(_ text: String, _ bodyPaths: inout [[Substring]]) throws(HookFault) -> String {
        var result = ""
        var rest = text[...]
        while let opening = rest.range(of: "{{") {
            result += rest[..<opening.upperBound]
            rest = rest[opening.upperBound...].drop { $0 == " " }
            let path = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
            guard let root = DeliveryRoot(path) else { throw HookFault(DeliveryRoot.fault(path)) }
            result += root.kinds + path.dropFirst(root.rawValue.count)
            if root == .body { bodyPaths.append(DeliveryRoot.names(path)) }
            rest = rest[path.endIndex...]
        }
        return result + rest
    }
}

/// The kinds' guards, over `body.` and `header.`.
struct DeliveryGuard: Sendable {
    let condition: Guard
    /// The paths below `body` that it reads.
    private(set) var bodyPaths: [[Substring]] = []

    /// - Throws: A sentence that describes the fault.
    init(_ text: String) throws(HookFault) {
        let translated = try Self.translate(text, &bodyPaths)
        do {
            condition = try Guard(translated)
        } catch {
            throw HookFault("a guard is to have \(error.expected) there")
        }
    }

    func holds(_ delivery: DeliveryValues) -> Bool { condition.holds(for: delivery.values) ?? false }

    private static let words: Set<Substring> = ["and", "or", "not", "in", "true", "false", "null"]

    private static func translate(_ text: String, _ bodyPaths: inout [[Substring]]) throws(HookFault) -> String {
        var result = ""
        var rest = text[...]
        while let first = rest.first {
            if first == "\"" || first == "'" {
                let end = Self.end(ofQuoted: rest, first)
                result += rest[..<end]
                rest = rest[end...]
            } else if first.isASCII, first.isLetter {
                let word = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
                if words.contains(word) {
                    result += word
                } else {
                    guard let root = DeliveryRoot(word) else { throw HookFault(DeliveryRoot.fault(word)) }
                    result += root.kinds + word.dropFirst(root.rawValue.count)
                    if root == .body { bodyPaths.append(DeliveryRoot.names(word)) }
                }
                rest = rest[word.endIndex...]
            } else {
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    private static func end(ofQuoted text: Substring, _ quote: Character) -> Substring.Index {
        var index = text.index(after: text.startIndex)
        while index < text.endIndex {
            let character = text[index]
            index = text.index(after: index)
            if character == quote { return index }
            if character == "\\", index < text.endIndex { index = text.index(after: index) }
        }
        return index
    }
}

private enum DeliveryRoot: String, CaseIterable {
    case body, header

    init?(_ path: Substring) {
        guard let root = Self.allCases.first(where: { path == $0.rawValue || path.hasPrefix($0.rawValue + ".") }) else {
            return nil
        }
        self = root
    }

    /// Its name in the kinds' templates and guards.
    var kinds: String {
        switch self {
        case .body: "content"
        case .header: "attributes"
        }
    }

    /// The names of a path below its root.
    static func names(_ path: Substring) -> [Substring] { path.split(separator: ".").dropFirst().map { $0 } }

    static func fault(_ path: Substring) -> String {
        "\"\(path.prefix(60))\" is no path of a delivery: body.NAME or header.NAME, names in lower case for header"
    }
}

/// A fault of a hook file, in words.
struct HookFault: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

extension StringProtocol {
    /// The first occurrence of `text`.
    func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
