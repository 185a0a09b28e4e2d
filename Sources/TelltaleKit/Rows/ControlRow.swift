public import TelltaleModel

/// The row of a toggle or a button (Protocols/Line/line-protocol.md §9).
public struct ControlRow: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        case toggle, button
    }

    public enum Phase: String, Hashable, Sendable {
        /// For a toggle.
        case settled, pending, unknown
        /// For a button.
        case idle, performing
    }

    public var kind: Kind
    public var phase: Phase?
    /// The confirmed value of a toggle; `nil` = not known.
    public var value: Bool?
    /// The value to draw: the wanted value on the connection that tapped, ``value`` elsewhere.
    public var shown: Bool?
    /// While pending: the requested value.
    public var wanted: Bool?
    /// Whether no provider has reported the value, so that it is only the requested one.
    public var isAssumed: Bool
    /// Whether a provider serves it.
    public var isAvailable: Bool
    /// Whether a view of the activity that it belongs to offers it; a tap is refused otherwise.
    public var isOffered: Bool
    /// For a button: until when a press is refused.
    public var coolingUntil: Timestamp?
    /// Whether the device must be unlocked before it acts.
    public var needsUnlock: Bool
    /// Whether parts are hidden, because the device is locked.
    public var isRedacted: Bool
    /// How the last operation ended.
    public var last: OperationEnd?
    public var symbol: String?
    public var title: String?
    public var text: String?
    public var tint: String?
    public var hint: String?
    /// A text about the last operation, to show for a moment.
    public var status: String?

    /// Whether an operation is under way.
    public var isPending: Bool { phase == .pending || phase == .performing }

    /// Reads the body of a row; `nil` if it is not the row of a control.
    public init?(_ body: JSONObject) {
        guard let kind = body["control"]?.string.flatMap(Kind.init) else { return nil }
        self.kind = kind
        phase = body["phase"]?.string.flatMap(Phase.init)
        value = body["value"]?.bool
        shown = body["shown"]?.bool
        wanted = body["wanted"]?.bool
        isAssumed = body["assumed"]?.bool ?? false
        isAvailable = body["available"]?.bool ?? false
        isOffered = body["offered"]?.bool ?? true
        coolingUntil = body["coolingUntil"]?.integer.map(Timestamp.init(milliseconds:))
        needsUnlock = body["unlock"]?.bool ?? false
        isRedacted = body["redacted"]?.bool ?? false
        last = body["last"]?.object.map(OperationEnd.init)
        symbol = body["symbol"]?.string
        title = body["title"]?.string
        text = body["text"]?.string
        tint = body["tint"]?.string
        hint = body["hint"]?.string
        status = body["status"]?.string
    }
}

/// How an operation of a control ended.
public struct OperationEnd: Hashable, Sendable {
    /// As in ``Tapped/operation``.
    public var operation: String?
    /// `confirmed`, `reverted` or `superseded`.
    public var result: String
    /// For `reverted`: `failed`, `timeout`, `overridden` or `unavailable`.
    public var reason: String?
    /// The provider's code and message.
    public var code: String?
    public var message: String?

    init(_ object: JSONObject) {
        operation = object["op"]?.string
        result = object["result"]?.string ?? ""
        reason = object["reason"]?.string
        code = object["code"]?.string
        message = object["message"]?.string
    }
}
