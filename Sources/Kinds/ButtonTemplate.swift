internal import TelltaleModel

/// One element of `buttons` in a view.
struct ButtonTemplate: Sendable {
    enum Action: Sendable {
        /// The key of a control.
        case control(Template)
        case link(LinkTemplate)
    }

    var action: Action
    /// When it is there (E5).
    var when = StateCondition()

    var controlKey: Template? {
        if case .control(let key) = action { key } else { nil }
    }
}

/// A button with a link: `{"link": "tel:{{content.phone}}", "title": "Call"}`.
struct LinkTemplate: Sendable {
    /// It begins with a literal scheme, so that no event can choose the program that opens it.
    var link: Template
    var title: Template?
    var symbol: Template?
    var tint: Template?

    static let parts = ["link", "title", "symbol", "tint"]

    /// Appends it as one JSON object. If a value of the link is missing, only `"interactive":false` is written and the button's
    /// place stays empty.
    func write(to writer: inout JSONWriter, context: TemplateContext, isInteractive: Bool) {
        let isComplete = link.parts.allSatisfy { part in
            switch part {
            case .literal: true
            case .value(let path, let filters): !Template.text(of: Template.value(path, filters, in: context)).isEmpty
            }
        }
        writer.beginObject()
        writer.member("interactive", isComplete && isInteractive)
        if isComplete {
            writer.member("link", Self.escaped(link.rendered(in: context)))
            if let symbol { writer.member("symbol", symbol.rendered(in: context)) }
            if let tint { writer.member("tint", tint.rendered(in: context)) }
            if let title { writer.member("title", title.rendered(in: context)) }
        }
        writer.endObject()
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// A URL contains only visible ASCII; other bytes are percent-encoded.
    private static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte > 0x20, byte < 0x7F {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
