internal import TelltaleModel
internal import TelltaleStatechart

extension KindReader {
    /// Reads an element of `buttons`: the key of a control, or a link.
    mutating func button(_ json: JSON, at path: String) -> ButtonTemplate? {
        switch json {
        case .string(let text): return controlKey(text, at: path).map { ButtonTemplate(action: .control($0)) }
        case .object(let object):
            let when = buttonCondition(object, at: path)
            if object["control"] != nil {
                guard self.object(json, at: path, knows: ["control", "when"]) != nil,
                    let text = string(object, "control", at: path),
                    let key = controlKey(text, at: Self.join(path, "control"))
                else { return nil }
                return ButtonTemplate(action: .control(key), when: when)
            }
            return link(json, at: path).map { ButtonTemplate(action: .link($0), when: when) }
        case .null, .bool, .integer, .number, .array:
            wrongType(
                json, at: path,
                expected: "a control's key, as coffee-tip/{{id}}, or a link, as {\"link\": \"tel:{{content.phone}}\"}")
            return nil
        }
    }

    private mutating func controlKey(_ text: String, at path: String) -> Template? {
        guard let template = template(text, at: path) else { return nil }
        guard Key(Self.sample(of: template)) != nil else {
            error(path, "\(quoted(text)) is not a control's key", advice: "write KIND/ID, as coffee-tip/{{id}}")
            return nil
        }
        return template
    }

    /// A sample of rendered text: with it, the literal parts must form a valid key.
    private static func sample(of template: Template) -> String {
        template.parts.map { part in
            switch part {
            case .literal(let text): text
            case .value: "x"
            }
        }.joined()
    }

    private mutating func link(_ json: JSON, at path: String) -> LinkTemplate? {
        guard let object = object(json, at: path, knows: LinkTemplate.parts + ["when"]) else { return nil }
        guard object["link"] != nil else {
            missing("link", at: path, example: "\"link\": \"tel:{{content.phone}}\"")
            return nil
        }
        for name in ["title", "symbol", "tint"] {
            if let text = object[name]?.string { checkLength(of: text, limit: 256, at: Self.join(path, name)) }
        }
        guard let link = template(object, "link", at: path) else { return nil }
        guard Self.hasScheme(link) else {
            error(
                Self.join(path, "link"), "\(quoted(link.text)) does not begin with a scheme",
                advice: "write it out, as tel: or https: (no event may choose it)")
            return nil
        }
        if object["title"] == nil, object["symbol"] == nil {
            warn(path, "the link has neither a text nor a symbol", advice: "add a \"title\" or a \"symbol\"")
        }
        return LinkTemplate(
            link: link, title: template(object, "title", at: path), symbol: template(object, "symbol", at: path),
            tint: template(object, "tint", at: path))
    }

    /// Whether its literal beginning is a scheme by RFC 3986: a letter, then letters, digits, `+`, `-` and `.`, then a colon.
    static func hasScheme(_ link: Template) -> Bool {
        guard case .literal(let text)? = link.parts.first, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else {
            return false
        }
        let scheme = text.utf8[..<colon]
        func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
        return scheme.first.map(isLetter) == true
            && scheme.allSatisfy { byte in
                isLetter(byte) || byte &- UInt8(ascii: "0") < 10
                    || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
            }
    }
}
