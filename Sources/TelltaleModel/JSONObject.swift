/// The members of a JSON object, sorted by the bytes of their names.
///
/// The order is fixed so that nothing depends on the order in a file, and equal objects encode to equal bytes.
///
/// An object, however deep, is one range of bytes in the journal's own encoding (``JSONTag``). An event's content is
/// therefore made in one allocation, and is compared, hashed, journaled and rendered without making a `String`. A
/// nested object shares the bytes of the outer one. A lookup is linear in the members before the one that it finds, and
/// a change copies all members; both are cheap because objects here are small and change rarely.
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

    /// The encoded bytes that hold this object, possibly as a part.
    private let form: [UInt8]
    private let start: UInt32
    private let end: UInt32

    private static let emptyForm: [UInt8] = [JSONTag.object, 0]

    public init() {
        self.init(form: Self.emptyForm, 0..<2)
    }

    /// The object that is encoded in `range` of `form`.
    ///
    /// - Precondition: `range` holds one valid object and ends before 4 GiB.
    init(form: [UInt8], _ range: Range<Int>) {
        self.form = form
        start = UInt32(range.lowerBound)
        end = UInt32(range.upperBound)
    }

    /// - Parameter members: The encoding of `count` members, sorted by name.
    private init(count: Int, members: Span<UInt8>) {
        var writer = BinaryWriter()
        writer.write(JSONTag.object)
        writer.write(UInt64(count))
        writer.write(copying: members)
        let form = writer.bytes
        self.init(form: form, 0..<form.count)
    }

    private var range: Range<Int> { Int(start)..<Int(end) }

    /// Calls `body` with the encoded bytes.
    func withForm<Result>(_ body: (Span<UInt8>) -> Result) -> Result { body(form.span.extracting(range)) }

    /// The address and the number of the encoded bytes.
    package var place: (address: MemoryAddress, byteCount: Int) { (form.address(at: Int(start)), range.count) }

    /// The memory that the object retains, in bytes: the whole buffer that it is a part of.
    var keptByteCount: Int { form.count }

    /// A copy in its own buffer, if the object is a part of a much larger one. An object that is stored for long must
    /// not retain the whole line that it was parsed from.
    public var compacted: JSONObject {
        guard keptByteCount > 2 * range.count + 64 else { return self }
        return JSONObject(form: Array(form[range]), 0..<range.count)
    }

    public var isEmpty: Bool { count == 0 }

    public var count: Int {
        var offset = Int(start) + 1
        return form.span.passCount(at: &offset)
    }

    /// The value under `name`; assigning `nil` removes the member.
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

    /// The range of the member `name`, name and value. Empty, at the place where the member belongs, if there is none.
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
        // Both are sorted, so one pass over both is enough.
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
                // A nested patch for an absent member still has its own nulls removed.
                let own = before?.object ?? JSONObject()
                members.write(.object(own.merging(JSONObject(form: changes.form, value..<offset))))
            default: members.write(copying: patch.extracting(change..<offset))
            }
            count += 1
        }
        members.write(copying: bytes.extracting(place..<Int(end)))
        return JSONObject(count: count + left, members: members.bytes.span)
    }

    /// Whether `self`, as a patch, replaces every member of `object` and contains no nulls. That is so for a writer
    /// that sends the whole state with each event.
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
    /// Decodes the member that begins at `offset` and advances `offset` past it.
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

    /// Calls `body` with each member, in their order. A name comes as its bytes, which saves making a `String`.
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
                // A nested object's end is known from the member's range, so it need not be scanned.
                return try body(name, .object(JSONObject(form: form, offset..<Int(end))))
            }
            try body(name, JSON(form: form, at: &offset))
        }
    }

    public func makeIterator() -> Iterator { Iterator(form: form, start: Int(start)) }
    public var underestimatedCount: Int { count }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// If two members have the same name, the last one counts.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}

extension JSONObject: Hashable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.withForm { left in right.withForm { left.hasSameBytes(as: $0) } }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(withForm { StableHash.of($0) })
    }
}

// MARK: Text and encoding

extension JSONObject {
    /// Appends the encoded bytes.
    func append(form buffer: inout ByteBuffer) { buffer.append(copying: form.span.extracting(range)) }

    /// Appends the compact text.
    func append(text buffer: inout ByteBuffer) {
        var offset = Int(start)
        form.span.passValue(at: &offset, to: &buffer)
    }

    /// The length of the compact text, in bytes.
    var textByteCount: Int {
        var offset = Int(start)
        return form.span.passTextByteCount(at: &offset)
    }

    /// An upper bound of ``textByteCount``: besides the two brackets, one byte of the encoding becomes at most six
    /// bytes of text.
    var textByteCountBound: Int { 6 * range.count + 2 }

    func combine(into hash: inout StableHash) {
        var offset = Int(start)
        form.span.passValue(at: &offset, to: &hash)
    }
}
