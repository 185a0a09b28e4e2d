internal import TelltaleModel

/// Converts dates in inputs into offsets from the beginning of a recording, and back.
///
/// A date is a number that is close to the beginning, in Unix seconds or milliseconds. In a recording it is an object of
/// one member, `{"@": MS}` for seconds and `{"@ms": MS}` for milliseconds.
struct RecordingClock {
    /// Unix milliseconds, a whole second.
    let beginning: Int64

    /// A number that is further away is no date of this recording: it is a plain number, or a date in the distant past.
    private static let reach: Int64 = 30 * 86_400_000

    func offsets(in object: JSONObject) -> JSONObject {
        var object = object
        for member in object { object[member.name] = offsets(in: member.value) }
        return object
    }

    private func offsets(in json: JSON) -> JSON {
        switch json {
        case .integer(let number):
            if abs(number.subtractingReportingOverflow(beginning).partialValue) <= Self.reach {
                return ["@ms": .integer(number - beginning)]
            }
            guard abs(number) < 1 << 40, abs(number * 1_000 - beginning) <= Self.reach else { return json }
            return ["@": .integer(number * 1_000 - beginning)]
        case .number(let number):
            guard number.magnitude < 1e12, (number * 1_000 - Double(beginning)).magnitude <= Double(Self.reach) else {
                return json
            }
            return ["@": .integer(Int64((number * 1_000).rounded()) - beginning)]
        case .object(let object): return .object(offsets(in: object))
        case .array(let array): return .array(array.map(offsets(in:)))
        case .null, .bool, .string: return json
        }
    }

    func dates(in object: JSONObject) -> JSONObject {
        var object = object
        for member in object { object[member.name] = dates(in: member.value) }
        return object
    }

    private func dates(in json: JSON) -> JSON {
        switch json {
        case .object(let object):
            if object.count == 1, let offset = object["@ms"]?.integer { return .integer(beginning + offset) }
            if object.count == 1, let offset = object["@"]?.integer {
                let time = beginning + offset
                return time % 1_000 == 0 ? .integer(time / 1_000) : JSON(Double(time) / 1_000)
            }
            return .object(dates(in: object))
        case .array(let array): return .array(array.map(dates(in:)))
        case .null, .bool, .integer, .number, .string: return json
        }
    }
}
