internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import ListenerLimits
internal import NIOCore
internal import TelltaleModel
internal import TelltaleWire

extension Response {
    /// A JSON answer.
    static func json(
        _ bytes: [UInt8], status: Int = 200, type: String = "application/json", _ fields: [HTTPField] = []
    ) -> Response {
        json(buffer: NIOCore.ByteBuffer(bytes: bytes), status: status, type: type, fields)
    }

    /// A JSON answer whose bytes may be shared.
    ///
    /// - Parameter holding: Stays alive until an answer in pieces is written; a smaller answer holds nothing.
    static func json(
        buffer: NIOCore.ByteBuffer, status: Int = 200, type: String = "application/json", _ fields: [HTTPField] = [],
        holding: (any Sendable)? = nil
    ) -> Response {
        var headers = HTTPFields(fields)
        headers[.contentType] = type
        return Response(
            status: HTTPResponse.Status(code: status), headers: headers, body: .pieces(of: buffer, holding: holding))
    }

    static func text(_ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8") -> Response {
        json(Array(text.utf8), status: status, type: type)
    }

    static func empty(_ status: Int, _ fields: [HTTPField] = []) -> Response {
        Response(status: HTTPResponse.Status(code: status), headers: HTTPFields(fields))
    }

    static func problem(_ problem: Problem) -> Response {
        var response = json(problem.body, status: problem.status, type: "application/problem+json")
        if let seconds = problem.retryAfter(now: SystemClock.now) { response.headers[.retryAfter] = String(seconds) }
        switch problem.code {
        case "auth_required": response.headers[.wwwAuthenticate] = "Bearer"
        case "auth_failed": response.headers[.wwwAuthenticate] = "Bearer error=\"invalid_token\""
        case "forbidden":
            if let need = problem.details["need"]?.string,
                need.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 })
            {
                response.headers[.wwwAuthenticate] = "Bearer error=\"insufficient_scope\", scope=\"\(need)\""
            }
        case "stale_rev":
            if let have = problem.details["have"]?.integer { response.headers[.eTag] = EntityTag.strong(have) }
        default: break
        }
        for (name, value) in problem.headers {
            if let name = HTTPField.Name.named(name) { response.headers[name] = value }
        }
        return response
    }
}

/// The daemon's answer, as JSON: the attributes of an `OK`.
enum Answers {
    /// `{"key":…,"verdict":…,"rev":…,"state":…}`.
    static func event(_ key: Key, _ line: ServerLine) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("key", key.text)
            appendActed(line, to: &writer)
        }
    }

    static func attributes(_ line: ServerLine) -> [UInt8] {
        JSONWriter.object { appendActed(line, to: &$0) }
    }

    /// A hint for people if the sender probably made a mistake.
    static func hint(_ line: ServerLine) -> String? { line.tail?["msg"]?.string }

    /// The answer to an action: the attributes, and the hint.
    static func appendActed(_ line: ServerLine, to writer: inout JSONWriter) {
        append(line, to: &writer)
        if let hint = hint(line) { writer.member("msg", hint) }
    }

    static func append(_ line: ServerLine, to writer: inout JSONWriter) {
        for attribute in line.attributes where attribute.name != "id" && attribute.name != "key" {
            writer.member(named: attribute.name, value(attribute))
        }
    }

    /// Attributes that are numbers by the protocol.
    private static let numbers: Set<String> = ["rev", "at", "heard", "ver", "seq", "skip", "version", "count"]

    static func value(_ attribute: Attribute) -> JSON {
        if numbers.contains(attribute.name), let number = Int64(attribute.value) { return .integer(number) }
        if attribute.name == "old_end" { return .bool(attribute.value == "1") }
        return .string(attribute.value)
    }

    /// For the lines of a listing. An unreadable line becomes an empty object.
    static func writing(_ write: @escaping @Sendable (ServerLine, inout JSONWriter) -> Void) -> ListingRequest.Write {
        { line, parser, body in
            var writer = JSONWriter()
            write((try? ServerLine(line, parser: parser)) ?? ServerLine(verb: "#"), &writer)
            body += writer.bytes
        }
    }

    static func kind(_ line: ServerLine, to writer: inout JSONWriter) {
        writer.beginObject()
        append(line, to: &writer)
        for member in line.tail ?? JSONObject() { writer.member(named: member.name, member.value) }
        writer.endObject()
    }

    static func row(_ line: ServerLine, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", line["key"] ?? "")
        if let rev = line.integer("rev") { writer.member("rev", rev) }
        writer.member("row", .object(line.tail ?? JSONObject()))
        writer.endObject()
    }

    /// A line of `HISTORY`: its attributes, and the members of its tail, which cannot replace them.
    static func history(_ line: ServerLine, to writer: inout JSONWriter) {
        writer.beginObject()
        var names: Set<String> = ["key"]
        for attribute in line.attributes where attribute.name != "key" && attribute.name != "id" {
            names.insert(attribute.name)
            writer.member(named: attribute.name, value(attribute))
        }
        for member in line.tail ?? JSONObject() where !names.contains(member.name) {
            writer.member(named: member.name, member.value)
        }
        writer.endObject()
    }
}
