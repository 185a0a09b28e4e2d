internal import TelltaleModel

/// An answer from JetStream's API.
struct NATSAnswer {
    private let object: JSONObject

    /// `nil` if the bytes are not a JSON object.
    init?(_ bytes: [UInt8]) {
        guard let object = (try? JSONParser().parse(bytes.span))?.object else { return nil }
        self.object = object
    }

    subscript(name: String) -> JSON? { object[name] }

    /// JetStream's error code, which is more specific than the HTTP status.
    var errorCode: Int64? { object["error"]?["err_code"]?.integer }
    var errorText: String? { object["error"]?["description"]?.string?.harmless }

    /// The position at which a message was stored.
    func position(in stream: String) -> Int64? {
        guard object["error"] == nil, object["stream"]?.string == stream, let position = object["seq"]?.integer,
            position > 0
        else { return nil }
        return position
    }

    /// "wrong last sequence"
    var isConditionRefused: Bool { errorCode == 10_071 }
    /// The log store has no room within the limits of the account, the server or the stream. It reports this before it
    /// proposes the message to its replicas; after any other error the message may have been stored.
    var isFull: Bool {
        switch errorCode {
        case 10_002, 10_023, 10_047: true
        case 10_077: ["maximum bytes exceeded", "maximum messages exceeded"].contains(errorText)
        default: false
        }
    }
    var isStreamMissing: Bool { errorCode == 10_059 }
    /// The error is temporary: there is no leader yet, or not enough servers.
    var isPassing: Bool { errorCode.map { [10_005, 10_007, 10_008, 10_009].contains($0) } ?? false }
    /// Why a message is refused, for people, unless the reason is temporary.
    var anyRefusal: String? {
        guard let errorCode, !isPassing else { return nil }
        return "\(errorText.map { String($0.prefix(200)) } ?? "an error") (\(errorCode))"
    }
    /// The same, unless the reason is the message's condition or a lack of room.
    var refusal: String? { isConditionRefused || isFull ? nil : anyRefusal }
}
