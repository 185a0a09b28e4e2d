/// The members of a JSON object, kept in the order of their names' bytes.
///
/// Nothing may depend on the order in which somebody wrote a file, and equal objects must write equal bytes, so there
/// is one order.
///
/// It is one run of bytes, the journal's own form (``JSONTag``), however deep it is: an event's content is made in one
/// allocation, compared, hashed, journaled and written out without its texts ever becoming `String`s. An object in it
/// shares its bytes. A lookup walks over the members before the one that is looked for, and a change copies them all:
/// objects here are small, and change rarely.
public struct JSONObject: Sendable {
    public struct Member: Hashable, Sendable {
        public let name: String
        public var value: JSON

        public static func == (left: Member, right: Member) -> Bool {
            left.name.hasSameBytes(as: right.name) && left.value == right.value
        }

        public func hash(into hasher: inout Hasher) {
            for byte in name.utf8 { hasher.combine(byte) }
            hasher.combine(value)
        }
    }

    /// What it lies in, of which it may be a part.
    private let form: [UInt8]
    private let start: UInt32
    private let end: UInt32

    private static let emptyForm: [UInt8] = [JSONTag.object, 0]

    public init() {
        self.init(form: Self.emptyForm, 0..<2)
    }

    /// The object whose form is `range` of `form`.
    ///
    /// - Precondition: It is one, and ends before 4 GiB.
    init(form: [UInt8], _ range: Range<Int>) {
        self.form = form
        start = UInt32(range.lowerBound)
        end = UInt32(range.upperBound)
    }

    /// - Parameter members: The form of `count` members, in order.
    private init(count: Int, members: Span<UInt8>) {
        var writer = BinaryWriter()
        writer.write(JSONTag.object)
        writer.write(UInt64(count))
        writer.write(copying: members)
        let form = writer.bytes
        self.init(form: form, 0..<form.count)
    }

    private var range: Range<Int> { Int(start)..<Int(end) }

    /// Calls `body` with its form.
    func withForm<Result>(_ body: (Span<UInt8>) -> Result) -> Result { body(form.span.extracting(range)) }

    /// Where its bytes are, and how many there are.
    package var place: (address: MemoryAddress, byteCount: Int) { (form.address(at: Int(start)), range.count) }

    /// How much memory it keeps, in bytes: all that it lies in.
    var keptByteCount: Int { form.count }

    /// The same in bytes of its own, where it lies in many more: what is kept for long must not keep a whole line.
    public var compacted: JSONObject {
        guard keptByteCount > 2 * range.count + 64 else { return self }
        return JSONObject(form: Array(form[range]), 0..<range.count)
    }

    public var isEmpty: Bool { count == 0 }

    public var count: Int {
        var offset = Int(start) + 1
        return form.span.passCount(at: &offset)
    }

    /// The value under `name`; assigning `nil` removes it.
    public subscript(name: String) -> JSON? {
        get {
            let place = place(of: name)
            guard !place.isEmpty else { return nil }
            var offset = place.lowerBound
            _ = form.span.passText(at: &offset)
            return JSON(form: form, at: &offset)
        }
        set {
            let place = place(of: name)
            if place.isEmpty, newValue == nil { return }
            var offset = Int(start) + 1
            let count = form.span.passCount(at: &offset)
            var members = BinaryWriter()
            members.write(copying: form.span.extracting(offset..<place.lowerBound))
            if let newValue {
                members.write(name)
                members.write(newValue)
            }
            members.write(copying: form.span.extracting(place.upperBound..<Int(end)))
            self = JSONObject(
                count: count - (place.isEmpty ? 0 : 1) + (newValue == nil ? 0 : 1), members: members.bytes.span)
        }
    }

    /// Where the member `name` is, name and value; empty, where it would have to be.
    private func place(of name: String) -> Range<Int> {
        let bytes = form.span
        let name = name.utf8.span
        var offset = Int(start) + 1
        for _ in 0..<bytes.passCount(at: &offset) {
            let start = offset
            let member = bytes.extracting(bytes.passText(at: &offset))
            guard member.precedes(name) else {
                guard member.hasSameBytes(as: name) else { return start..<start }
                bytes.passValue(at: &offset)
                return start..<offset
            }
            bytes.passValue(at: &offset)
        }
        return offset..<offset
    }

    /// JSON Merge Patch (RFC 7396) of one object into another.
    func merging(_ changes: JSONObject) -> JSONObject {
        if changes.replacesAll(of: self) { return changes }
        let (bytes, patch) = (form.span, changes.form.span)
        var members = BinaryWriter()
        var count = 0
        var place = Int(start) + 1
        var left = bytes.passCount(at: &place)
        var offset = Int(changes.start) + 1
        // Both are in order, so one pass over both is enough.
        for _ in 0..<patch.passCount(at: &offset) {
            let change = offset
            let name = patch.extracting(patch.passText(at: &offset))
            let value = offset
            patch.passValue(at: &offset)
            var before: JSON?
            while left > 0 {
                var next = place
                let other = bytes.extracting(bytes.passText(at: &next))
                let isOlder = other.precedes(name)
                guard isOlder || other.hasSameBytes(as: name) else { break }
                if isOlder { bytes.passValue(at: &next) } else { before = JSON(form: form, at: &next) }
                left -= 1
                let member = bytes.extracting(place..<next)
                place = next
                guard isOlder else { break }
                members.write(copying: member)
                count += 1
            }
            switch patch[value] {
            case JSONTag.null: continue
            case JSONTag.object:
                members.write(copying: patch.extracting(change..<value))
                // A patch for a member that is not there still loses its own nulls.
                let own = before?.object ?? JSONObject()
                members.write(.object(own.merging(JSONObject(form: changes.form, value..<offset))))
            default: members.write(copying: patch.extracting(change..<offset))
            }
            count += 1
        }
        members.write(copying: bytes.extracting(place..<Int(end)))
        return JSONObject(count: count + left, members: members.bytes.span)
    }

    /// Whether as a patch it leaves nothing of `object`, and itself as it is: who tells the whole state every time.
    private func replacesAll(of object: JSONObject) -> Bool {
        let (bytes, others) = (form.span, object.form.span)
        var offset = Int(start) + 1
        var place = Int(object.start) + 1
        let count = bytes.passCount(at: &offset)
        var left = others.passCount(at: &place)
        for _ in 0..<count {
            let name = bytes.passText(at: &offset)
            guard bytes[offset] != JSONTag.null, bytes[offset] != JSONTag.object else { return false }
            bytes.passValue(at: &offset)
            guard left > 0 else { continue }
            var next = place
            let other = others.passText(at: &next)
            guard bytes.extracting(name).hasSameBytes(as: others.extracting(other)) else { continue }
            others.passValue(at: &next)
            place = next
            left -= 1
        }
        return left == 0
    }
}

extension JSONObject.Member {
    /// The member whose form begins at `offset`; leaves `offset` behind it.
    fileprivate init(form: [UInt8], at offset: inout Int) {
        let bytes = form.span
        name = bytes.string(in: bytes.passText(at: &offset))
        value = JSON(form: form, at: &offset)
    }
}

extension JSONObject: Sequence {
    public struct Iterator: IteratorProtocol {
        private let form: [UInt8]
        private var offset: Int
        private var left: Int

        fileprivate init(form: [UInt8], start: Int) {
            self.form = form
            offset = start + 1
            left = form.span.passCount(at: &offset)
        }

        public mutating func next() -> Member? {
            guard left > 0 else { return nil }
            left -= 1
            return Member(form: form, at: &offset)
        }
    }

    /// Calls `body` with each member, in their order; a name comes as its bytes, which takes no `String`.
    public func forEachMember<Failure>(
        _ body: (_ name: Span<UInt8>, _ value: JSON) throws(Failure) -> Void
    ) throws(Failure) {
        let bytes = form.span
        var offset = Int(start) + 1
        var left = bytes.passCount(at: &offset)
        while left > 0 {
            left -= 1
            let name = bytes.extracting(bytes.passText(at: &offset))
            if left == 0, bytes[offset] == JSONTag.object {
                // It ends where this one does: nobody has to walk over it to know.
                return try body(name, .object(JSONObject(form: form, offset..<Int(end))))
            }
            try body(name, JSON(form: form, at: &offset))
        }
    }

    public func makeIterator() -> Iterator { Iterator(form: form, start: Int(start)) }
    public var underestimatedCount: Int { count }
}

extension JSONObject: Hashable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.withForm { left in right.withForm { left.hasSameBytes(as: $0) } }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(withForm { StableHash.of($0) })
    }
}

// MARK: What is made of its form

extension JSONObject {
    /// Appends its form.
    func append(form buffer: inout ByteBuffer) { buffer.append(copying: form.span.extracting(range)) }

    /// Appends its compact text.
    func append(text buffer: inout ByteBuffer) {
        var offset = Int(start)
        form.span.passValue(at: &offset, to: &buffer)
    }

    /// How long its compact text is.
    var textByteCount: Int {
        var offset = Int(start)
        return form.span.passTextByteCount(at: &offset)
    }

    /// At least as much as ``textByteCount``: no byte of the form stands for more than six of text, two brackets aside.
    var textByteCountBound: Int { 6 * range.count + 2 }

    func combine(into hash: inout StableHash) {
        var offset = Int(start)
        form.span.passValue(at: &offset, to: &hash)
    }
}
