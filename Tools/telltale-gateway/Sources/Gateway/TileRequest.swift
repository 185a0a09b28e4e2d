internal import TelltaleModel
public import TelltaleWire

/// The body of a request about a tile: `do`, and the other words of `TILE`.
public enum TileRequest {
    /// Reads a body. The daemon checks which words an action takes, and their values.
    ///
    /// - Throws: `bad_key`, `bad_attr` with the `path` of the member, `bad_json`.
    public static func make(kind: String, id: String, body: [UInt8]) throws(Problem) -> TileCommand {
        let key = try EventRequest.key(kind, id)
        let object = try EventRequest.object(body.span)
        guard let action = object["do"]?.string.flatMap({ TileCommand.Action(rawValue: $0) }) else {
            throw faulty("do", "one of " + TileCommand.Action.allCases.map(\.rawValue).joined(separator: ", "))
        }
        var tile = TileCommand(key: key, action: action)
        for member in object {
            let (name, value) = (member.name, member.value)
            switch name {
            case "do": break
            case "widget": tile.widget = try word(value, name)
            case "family": tile.family = try word(value, name)
            case "stack": tile.stack = try word(value, name)
            case "placement": tile.placement = try word(value, name)
            case "mounting": tile.mounting = try word(value, name)
            case "theme": tile.theme = try word(value, name)
            case "pos": tile.position = try number(value, name)
            case "scale": tile.scale = try number(value, name)
            case "smart": tile.isSmart = try flag(value, name)
            case "suggest": tile.suggests = try flag(value, name)
            case "configuration":
                guard let configuration = value.object else { throw faulty(name, "an object") }
                tile.configuration = configuration
            case _:
                let known = "do, widget, family, stack, placement, mounting, theme, pos, scale, smart, suggest"
                throw faulty(name, "left out: a tile has \(known) and configuration")
            }
        }
        return tile
    }

    private static func word(_ value: JSON, _ name: String) throws(Problem) -> String {
        do throws(Problem) {
            return try Query.word(value.string ?? "", name)
        } catch {
            throw faulty(name, "a text of 1 to \(WireLimits.valueLength) visible ASCII bytes without a space")
        }
    }

    private static func number(_ value: JSON, _ name: String) throws(Problem) -> Int {
        guard let number = value.integer, (0...1_000).contains(number) else {
            throw faulty(name, "a whole number, 0 to 1000")
        }
        return Int(number)
    }

    private static func flag(_ value: JSON, _ name: String) throws(Problem) -> Bool {
        guard let flag = value.bool else { throw faulty(name, "true or false") }
        return flag
    }

    private static func faulty(_ name: String, _ expected: String) -> Problem {
        var details = JSONObject()
        details["path"] = .string(String(name.prefix(70)))
        return Problem("bad_attr", "\(name.prefix(70)) is to be \(expected)", details: details)
    }
}
