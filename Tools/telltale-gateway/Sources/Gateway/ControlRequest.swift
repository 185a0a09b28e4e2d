internal import TelltaleModel

/// The bodies of `value` and `seen`.
public enum ControlRequest {
    /// `on`, `off`, or `{"value":"on"}`, with blanks around it.
    ///
    /// - Throws: `bad_attr`, `bad_json`.
    public static func value(_ body: [UInt8]) throws(Problem) -> Bool {
        var text = String(decoding: body, as: UTF8.self)
        text = text.filter { !$0.isWhitespace }
        var value = text
        if text.hasPrefix("{") {
            value = try EventRequest.object(body.span)["value"]?.string ?? ""
        } else if text.hasPrefix("\""), text.hasSuffix("\""), text.utf8.count > 1 {
            value = String(text.dropFirst().dropLast())
        }
        switch value {
        case "on": return true
        case "off": return false
        default: throw Problem("bad_attr", "the body is to be on, off, or {\"value\":\"on\"}")
        }
    }

    /// `{"rev":n}`.
    ///
    /// - Throws: `bad_attr`, `bad_json`.
    public static func seenRev(_ body: [UInt8]) throws(Problem) -> Int64 {
        guard let rev = try EventRequest.object(body.span)["rev"]?.integer, rev >= 0 else {
            throw Problem("bad_attr", "the body is to be {\"rev\":N}, the rev of the alert that was seen")
        }
        return rev
    }
}
