internal import TelltaleModel

/// An answer of JetStream's interface.
struct Answer {
    private let object: JSONObject

    /// `nil` for bytes that are no object of JSON.
    init?(_ bytes: [UInt8]) {
        guard let object = (try? JSONParser().parse(bytes.span))?.object else { return nil }
        self.object = object
    }

    subscript(name: String) -> JSON? { object[name] }

    /// The code of an error, which tells more than that of HTTP.
    var errorCode: Int64? { object["error"]?["err_code"]?.integer }
    var errorText: String? { object["error"]?["description"]?.string?.harmless }

    /// Where a message is stored.
    func position(in stream: String) -> Int64? {
        guard object["error"] == nil, object["stream"]?.string == stream, let position = object["seq"]?.integer,
            position > 0
        else { return nil }
        return position
    }

    /// "wrong last sequence"
    var isConditionRefused: Bool { errorCode == 10_071 }
    /// The engine has no room, and says so before a message is proposed to its replicas: the limits of the account, of the
    /// server, and of the stream. Each error but these leaves the fate of a message open.
    var isFull: Bool {
        switch errorCode {
        case 10_002, 10_023, 10_047: true
        case 10_077: ["maximum bytes exceeded", "maximum messages exceeded"].contains(errorText)
        default: false
        }
    }
    var isStreamMissing: Bool { errorCode == 10_059 }
    /// No leader yet, or not enough servers yet.
    var isPassing: Bool { errorCode.map { [10_005, 10_007, 10_008, 10_009].contains($0) } ?? false }
    /// Why a message is refused, for people, where that may last.
    var anyRefusal: String? {
        guard let errorCode, !isPassing else { return nil }
        return "\(errorText.map { String($0.prefix(200)) } ?? "an error") (\(errorCode))"
    }
    /// The same, where neither the condition of the message nor a lack of room is the reason.
    var refusal: String? { isConditionRefused || isFull ? nil : anyRefusal }
}
