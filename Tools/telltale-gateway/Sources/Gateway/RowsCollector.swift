internal import TelltaleModel

/// Collects the events of a stream into one answer: each key once, as it was last.
public struct RowsCollector: Sendable {
    /// The last change of a key.
    private struct Piece {
        var number: Int
        var subscription: Int
        var isGone: Bool
        var bytes: ArraySlice<UInt8>
    }

    public let request: RowsRequest
    /// By the subscription and the key, as a copy: a dictionary keeps its first key, and that would keep the first row.
    private var pieces: [[UInt8]: Piece] = [:]
    private var changeCount = 0
    /// By the subscription.
    private var resets: [Int: ArraySlice<UInt8>] = [:]
    private var isLive: [Bool]
    private var cursor: ArraySlice<UInt8>
    private var byteCount = 0
    private var isEnded = false
    private var refusal: Problem?

    /// As many bytes as a stream holds for its reader.
    static let byteLimit = 1 << 20
    /// The memory of a piece beside its bytes.
    private static let pieceByteCount = 256
    /// The memory that every read may take.
    private static let ownByteCount = 65_536

    public init(_ request: RowsRequest) {
        self.request = request
        isLive = request.stream.selections.map { _ in false }
        cursor = Array(request.position.utf8)[...]
    }

    // MARK: Whether it is enough

    /// Whether this is so long that only some may be in progress at once.
    public var isLong: Bool { refusal == nil && byteCount + pieces.count * Self.pieceByteCount > Self.ownByteCount }

    /// Whether everything up to the cursor has come.
    public var isCurrent: Bool { isLive.allSatisfy { $0 } }

    private var hasNews: Bool { !resets.isEmpty || !pieces.isEmpty }

    /// Whether there is nothing to wait for.
    public var isAnswered: Bool {
        refusal != nil || isEnded || (isCurrent && (request.from == nil || !resets.isEmpty || request.wait == 0))
    }

    /// Whether the answer is given at a whole second. Readers at different cursors are then at one cursor, however
    /// often rows change.
    ///
    /// - Parameter isLate: Whether the time to wait is over.
    public func isAnswered(isLate: Bool) -> Bool { isAnswered || (isCurrent && (hasNews || isLate)) }

    // MARK: Events

    /// Takes whole events in the format ``StreamEncoder/Format/lines``.
    public mutating func collect(_ events: [UInt8]) {
        // A copy of each, so that a small row does not keep the bytes that it came with.
        for line in events.split(separator: 0x0A) where refusal == nil { collect(line: Array(line)[...]) }
    }

    private mutating func collect(line: ArraySlice<UInt8>) {
        guard let (name, afterName) = Self.text(after: "{\"event\":\"", in: line) else { return }
        var rest = afterName
        if let (id, afterID) = Self.text(after: ",\"id\":\"", in: rest) {
            cursor = id
            rest = afterID
        }
        let data = rest.dropFirst()
        switch String(decoding: name, as: UTF8.self) {
        case "row": keep(data, isGone: false)
        case "gone": keep(data, isGone: true)
        case "reset": reset(data)
        case "live":
            if let subscription = subscription(data) { isLive[subscription - 1] = true }
        case "bye":
            isEnded = true
            guard !isCurrent else { return }
            let code = Self.text(after: "\"code\":\"", in: data)?.text ?? []
            refusal = Problem(
                String(decoding: code, as: UTF8.self), "the daemon ended the connection before everything had come")
        default: return
        }
    }

    private mutating func keep(_ data: ArraySlice<UInt8>, isGone: Bool) {
        guard let subscription = subscription(data), let colon = data.firstIndex(of: UInt8(ascii: ",")),
            let (key, _) = Self.text(after: ",\"key\":\"", in: data[colon...])
        else { return }
        changeCount += 1
        let piece = Piece(number: changeCount, subscription: subscription, isGone: isGone, bytes: data)
        let former = pieces.updateValue(piece, forKey: Array(data[data.startIndex..<key.endIndex]))
        byteCount += data.count - (former?.bytes.count ?? 0)
        guard byteCount > Self.byteLimit else { return }
        refusal = Problem(
            "too_large",
            "the rows of this sub= have more than \(Self.byteLimit) bytes; ask for a narrower pattern, or follow /v1/stream"
        )
    }

    /// What came before belongs to another history.
    private mutating func reset(_ data: ArraySlice<UInt8>) {
        guard let subscription = subscription(data) else { return }
        isLive[subscription - 1] = false
        pieces = pieces.filter { $0.value.subscription != subscription }
        byteCount = pieces.values.reduce(0) { $0 + $1.bytes.count }
        resets[subscription] = data
    }

    /// The number at the beginning of an event's data, from 1.
    private func subscription(_ data: ArraySlice<UInt8>) -> Int? {
        let name = "\"sub\":".utf8
        guard data.starts(with: name) else { return nil }
        let digits = data.dropFirst(name.count).prefix { (0x30...0x39).contains($0) }
        guard let number = Int(String(decoding: digits, as: UTF8.self)), (1...isLive.count).contains(number) else {
            return nil
        }
        return number
    }

    /// The text up to the next quote, and what follows that; `nil` if the bytes do not begin so.
    private static func text(
        after beginning: String, in bytes: ArraySlice<UInt8>
    ) -> (text: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard bytes.starts(with: beginning.utf8) else { return nil }
        let text = bytes.dropFirst(beginning.utf8.count).prefix { $0 != UInt8(ascii: "\"") }
        return (text, bytes[text.endIndex...].dropFirst())
    }

    // MARK: The answer

    /// `{"cursor":…,"rows":[…],"gone":[…]}`, with `reset` where the cursor could not be resumed.
    ///
    /// - Parameter time: In seconds. It makes the cursor another one where nothing changed: the next read has another
    ///   URL then, whose answer no cache has yet.
    /// - Throws: The daemon's refusal, `too_large`, or `daemon_unreachable` where not everything has come.
    public func body(at time: Int64) throws(Problem) -> [UInt8] {
        if let refusal { throw refusal }
        guard isCurrent else {
            throw Problem("daemon_unreachable", "the daemon does not tell everything; ask again later")
        }
        var body: [UInt8] = Array("{\"cursor\":\"".utf8) + cursor
        if request.from != nil, !hasNews, cursor.elementsEqual(request.position.utf8) { body += ".\(time)".utf8 }
        let changes = pieces.values.sorted { $0.number < $1.number }
        body += "\",\"rows\":".utf8
        Self.write(changes.filter { !$0.isGone }.map(\.bytes), to: &body)
        body += ",\"gone\":".utf8
        Self.write(changes.filter(\.isGone).map(\.bytes), to: &body)
        if !resets.isEmpty, request.from != nil {
            body += ",\"reset\":".utf8
            Self.write(resets.sorted { $0.key < $1.key }.map(\.value), to: &body)
        }
        body.append(UInt8(ascii: "}"))
        return body
    }

    private static func write(_ objects: [ArraySlice<UInt8>], to body: inout [UInt8]) {
        body.append(UInt8(ascii: "["))
        for (index, object) in objects.enumerated() { body += (index == 0 ? "{" : ",{").utf8 + object }
        body.append(UInt8(ascii: "]"))
    }
}
