import Hub
import TelltaleModel
import Testing

/// Kinds of controls, and steps that their tests share.
extension HubHarness {
    static func porchLight(version: Int = 1, _ more: String = "") -> String {
        """
        {"kind":"porch-light","type":"toggle","version":\(version),"app":"com.example.home","title":"Porch light",
         "symbol":{"on":"lightbulb.fill","off":"lightbulb"}\(more.isEmpty ? "" : ",")\(more)}
        """
    }

    static func logCoffee(_ more: String = "") -> String {
        """
        {"kind":"log-coffee","type":"button","version":1,"app":"com.example.coffee","title":"Log coffee",
         "symbol":"cup"\(more.isEmpty ? "" : ",")\(more)}
        """
    }

    /// An order whose Lock Screen view has a button and a toggle, and whose compact view has the button.
    static let tippedCoffee = """
        {"kind":"coffee-order","type":"activity","version":1,"app":"com.example.coffee","title":"Coffee order",
         "machine":{"initial":"placed","states":{"placed":{"on":{"brew":"brewing"}},"brewing":{"on":{"collect":"collected"}},
           "collected":{"type":"final"}}},
         "views":{"compact":{"leading":{"symbol":"cup","buttons":["log-coffee/{{id}}"]},"trailing":{"text":"{{state.title}}"}},
           "minimal":{"symbol":"cup"},"expanded":{"bottom":{"buttons":["log-coffee/{{id}}"]}},
           "lockScreen":{"title":"{{state.title}}","buttons":["log-coffee/{{id}}","porch-light/front"]}}}
        """

    /// The daemon is gone, and another one reads its journal; every connection of before is lost.
    func restart() throws {
        hub = try recovered()
        hub.restart()
        turn()
    }

    /// The same from a snapshot, without any record.
    func restartFromSnapshot() throws {
        var loaded = Hub(configuration: HubConfiguration(), epoch: hub.epoch)
        var failure: (any Error)?
        hub.snapshot().forEachChunk { chunk in
            do { try loaded.load(chunk) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        loaded.finishLoading()
        hub = loaded
        hub.restart()
        turn()
    }

    /// The line of a provider that is asked to act: its operation.
    func operation(askedOf provider: Client) -> String? {
        lines(of: provider).last { $0.hasPrefix("DO ") }.flatMap { Self.attribute("op", of: $0) }
    }

    static func attribute(_ name: String, of line: String) -> String? {
        line.split(separator: " ").first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    /// The tail of a line, read.
    static func tail(_ line: String?) throws -> JSON {
        let line = try #require(line)
        let start = try #require(line.firstIndex(of: "{"))
        return try JSONParser.parse(String(line[start...]))
    }

    /// A lamp that is served, and off, and a screen that has tapped on and then off: one is under way, the other waits.
    func switchedTwice() throws -> (lamp: HubHarness.Client, screen: HubHarness.Client, operations: [String]) {
        let (lamp, screen) = (connect(), connect())
        send("SERVE porch-light", from: lamp)
        send("REPORT porch-light/front value=off", from: lamp)
        send("SUB porch-light/* view=carplay", from: screen)
        let operations = try ["on", "off"].map { value in
            let reply = send("SET porch-light/front value=\(value)", from: screen).first
            return try #require(reply.flatMap { Self.attribute("op", of: $0) })
        }
        return (lamp, screen, operations)
    }

    /// The full row of the porch light, as a new connection gets it.
    func porchLightRow() throws -> JSON {
        try Self.tail(send("GET porch-light/front", from: connect()).first)
    }

    /// The rev of the porch light.
    func porchLightRev() throws -> String {
        try #require(
            send("GET porch-light/front", from: connect()).first.flatMap {
                Self.attribute("rev", of: $0)
            })
    }
}
