import Foundation
import Kinds
import Machines
import Surfaces
import TelltaleModel
import TestSupport
import Testing

/// Runs `Protocols/Surfaces/views.table`.
struct ViewTableTests {
    @Test("Protocols/Surfaces/views.table", arguments: try TableFile("Surfaces/views.table").rows)
    func row(_ row: TableFile.Row) throws {
        var played = try Played(patch: row[1])
        try played.take(row[2])
        let row4 = try played.drawn(on: row[3])
        for expectation in row[4].split(separator: "; ") {
            let words = expectation.split(separator: " ", maxSplits: 1).map { String($0) }
            let found = words[0].split(separator: ".").reduce(Optional(row4)) { $0?[String($1)] }
            let expected = words[1] == "none" ? nil : try JSONParser.parse(words[1])
            #expect(found == expected, "\(words[0]) in \(row4)")
        }
    }

    @Test func `the kind of the table has no fault`() throws {
        let (kind, diagnostics) = Kind.read(try Played.source(), file: "views.json")
        #expect(kind != nil)
        #expect(diagnostics.filter { !$0.message.contains("is private in") } == [])
    }
}

/// An activity of the kind in `views.json`.
private struct Played {
    private let kind: Kind
    private var activity: Activity
    private var alert: ActivityAlert?
    private let now = Timestamp(milliseconds: 1_763_719_200_000)

    static func source() throws -> JSON {
        try JSONParser.parse(
            String(contentsOf: repositoryRoot.appending(path: "Protocols/Surfaces/views.json"), encoding: .utf8))
    }

    init(patch: String) throws {
        let source = patch == "-" ? try Self.source() : try Self.source().merging(JSONParser.parse(patch))
        let (read, diagnostics) = Kind.read(source, file: "views.json")
        kind = try #require(read, "\(diagnostics)")
        guard case .activity(let definition) = kind.body else { throw Problem.noActivity }
        var start = ActivityEvent(type: "start")
        start.details.attributes = ["shop": "Hoegi"]
        start.details.content = ["address": "Dock 4"]
        let key = try #require(Key("pickup/1"))
        let (started, _) = try Activity.start(
            key: key, kind: definition, event: start, accounts: [], settings: ActivitySettings(), at: now)
        activity = try #require(started)
    }

    private enum Problem: Error { case noActivity }

    /// Applies events: names, each with the tail that it brings.
    mutating func take(_ events: String) throws {
        for match in events.matches(of: /([a-z]+)(\{.*\})?( |$)/) {
            var event = ActivityEvent(type: String(match.1))
            if let tail = match.2, let object = try JSONParser.parse(String(tail)).object {
                var unknown: [String] = []
                event.details = try EventDetails(tail: object, unknown: &unknown)
            }
            let outcome = try activity.apply(event, settings: ActivitySettings(), at: now)
            alert = outcome.alert
        }
    }

    /// The row on a device, or the alert.
    func drawn(on device: String) throws -> JSON {
        var words = device.split(separator: " ").map { String($0) }
        let isAlert = words.first == "alert"
        let isOpened = words.first == "opened"
        if isAlert || isOpened { words.removeFirst() }
        var (traits, settings, hasAccount) = (Traits(), SurfaceSettings(), true)
        for word in words.dropFirst() {
            let parts = word.split(separator: "=").map { String($0) }
            switch parts[0] {
            case "nobody": hasAccount = false
            case "always-on": settings.hidesPrivateAlwaysOn = parts[1] == "hide"
            default: try traits.set(parts[0], to: parts[1])
            }
        }
        var writer = JSONWriter()
        if words[0] == "full" {
            activity.writeFullRow(to: &writer)
            return try JSONParser().parse(writer.bytes.span)
        }
        let surface = try #require(Surface(rawValue: words[0]))
        let visible = VisibleActivity(activity, index: 0, app: 0)
        if isAlert {
            let style = Projection.alertStyle(of: visible, surface: surface, traits: traits, settings: settings)
            let alert = try #require(alert)
            let drawn = traits.isRedacted(on: surface, settings) ? alert.redacted(title: kind.title) : alert
            drawn.write(style: style?.rawValue, to: &writer)
            return try JSONParser().parse(writer.bytes.span)
        }
        let placement =
            isOpened
            ? Projection.opened(visible, surface: surface, traits: traits, settings: settings)
            : Projection.project(
                surface: surface, traits: traits, activities: [visible], settings: settings, competing: true,
                hasAccount: hasAccount)[0]
        let drawn: Surface = isOpened ? .desktop : surface
        SurfaceRow.write(activity, kind: kind, placement: placement, surface: drawn, to: &writer)
        return try JSONParser().parse(writer.bytes.span)
    }
}
