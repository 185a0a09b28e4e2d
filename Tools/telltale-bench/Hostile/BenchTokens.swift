import Foundation
import TelltaleModel

/// Principals for a measurement: one of the healthy, and an issuer whose tokens none of the crowd can sign.
enum BenchTokens {
    /// It may do everything.
    static let token = "tt_benchaaa_" + String(repeating: "x", count: 43)

    /// Of the issuer of the file, by its key, with a signature that is not good.
    static let badToken = [
        part(#"{"alg":"ES256","typ":"JWT","kid":"b"}"#),
        part(
            #"{"iss":"https://bench.example.com","aud":"telltale","sub":"eve","iat":1,"exp":2,"scope":"read:*","account":"eve"}"#
        ),
        Base64.text([UInt8](repeating: 0x11, count: 64), .url),
    ].joined(separator: ".")

    private static let file = """
        {"version": 1,
         "principals": [{"name": "bench", "scopes": ["admin"], "account": "*", "tokens": [
           {"id": "benchaaa", "sha256": "fb98843319aff8b60824b0bdf5ba6c94028010031ae938e8db03c2c96fe534ce"}]}],
         "issuers": [{"issuer": "https://bench.example.com", "audience": "telltale", "maxLifetime": "24h", "scopes": ["read:*"],
           "keys": [{"kid": "b", "kty": "EC", "crv": "P-256", "x": "o6CCiW9A6olYiW5DtJjYqBJTP66XPh25K4su1iWlxGM",
                     "y": "kiGQbceQz-CNCzAUu1wOc3Sd62bXTmyCgiogvzqbXho"}]}]}
        """

    /// - Returns: The arguments with which `telltaled` wants tokens.
    static func arguments(in folder: BenchFolder) throws -> [String] {
        let path = folder.path + "/principals.json"
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(file.utf8), attributes: [.posixPermissions: 0o600])
        else { throw ServerProcess.StartFailure(description: "\(path) cannot be written") }
        return ["--auth", path]
    }

    private static func part(_ text: String) -> String { Base64.text(Array(text.utf8), .url) }
}

/// Kinds that nothing is of, beside those of a measurement.
enum BenchKinds {
    static let count = 400
    static let stateCount = 30

    /// By the names of their files.
    static var texts: [String: String] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { ("further-\($0).json", text($0)) })
    }

    private static func text(_ number: Int) -> String {
        let states = (0..<stateCount).map { state in
            #""s\#(state)": {"progress": 0.5, "on": {"next": "s\#((state + 1) % stateCount)", "back": "s0"}}"#
        }
        return """
            {"kind": "further-\(number)", "type": "activity", "version": 1, "app": "com.example.bench", "title": "Further",
             "maxActive": "365d", "supplementalFamilies": ["small"],
             "machine": {"initial": "s0", "states": {\(states.joined(separator: ","))}},
             "views": {"small": {"title": "{{content.n}}", "progress": true}}}
            """
    }
}
