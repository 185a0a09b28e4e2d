import Cards
import Foundation
import Kinds
import Machines
import Surfaces
import TelltaleModel
import ToolSupport

/// Runs one activity of a kind without a daemon, and draws what a surface shows of it: `telltale kinds run --view`.
///
/// The lines are those of ``Kinds/MachineTrial``. The activity begins with the first line: with its tail where that is
/// `start`, or an event that starts the kind, else with nothing. It is alone on its surface, and no control exists.
struct ViewTrial {
    private let kind: Kind
    private let definition: ActivityKind
    private let view: ViewName
    private let json: Bool
    private let width: Int
    private var activity: Activity?
    private var now: Timestamp
    private var lineNumber = 0
    private(set) var hasFailed = false

    /// - Parameter now: The time at which the trial begins; `after` moves it.
    init(_ kind: Kind, _ definition: ActivityKind, view: ViewName, json: Bool, width: Int, at now: Timestamp) {
        (self.kind, self.definition, self.view, self.json) = (kind, definition, view, json)
        (self.width, self.now) = (width, now)
    }

    /// One line of the input, without its end. Gives what is printed: nothing for a blank line or a comment.
    mutating func take(_ text: String) -> [String] {
        lineNumber += 1
        let line = text.trimmed
        guard !line.isEmpty, !line.hasPrefix("#") else { return [] }
        let parts = line.split(separator: " ", maxSplits: 1).map { String($0) }
        let (word, tail) = (parts[0], parts.count > 1 ? parts[1].trimmed : "")
        do {
            if word == "after" { return try pass(tail) }
            var unknown: [String] = []
            guard EventName.isValid(word), let object = (tail.isEmpty ? [:] : try? JSONParser.parse(tail))?.object
            else {
                throw Fault("\"\(line)\" is neither an event's name, nor one with a JSON object behind it")
            }
            let details = try EventDetails(tail: object, unknown: &unknown)
            guard unknown.isEmpty else { throw Fault("an event has no \(unknown.joined(separator: ", "))") }
            return try apply(ActivityEvent(type: word, details: details), named: word)
        } catch {
            hasFailed = true
            complaint = "line \(lineNumber): \((error as? Fault)?.text ?? "\(error)")"
            return []
        }
    }

    /// The fault of the last line; the caller empties it.
    var complaint: String?

    /// The picture before any event, for an input without a line.
    mutating func finish() -> [String] {
        guard activity == nil, !hasFailed else { return [] }
        return take("start")
    }

    private struct Fault: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    private mutating func apply(_ event: ActivityEvent, named name: String) throws -> [String] {
        let settings = ActivitySettings()
        guard var activity else {
            let key = Key(kind: kind.name, id: "1042") ?? Key("kind/id")
            guard let key else { return [] }
            let renamed = definition.accept[name] ?? name
            let starts = event.change == .started || definition.startsOn.contains(renamed)
            let (started, outcome) = try Activity.start(
                key: key, kind: definition, event: starts ? event : ActivityEvent(.started), accounts: [],
                settings: settings, at: now)
            self.activity = started
            guard !starts else { return shown(name, outcome) }
            return shown("start", outcome) + (try apply(event, named: name))
        }
        fireDue(&activity, settings)
        let outcome = try activity.apply(event, settings: settings, at: now)
        self.activity = activity
        return shown(name, outcome)
    }

    private mutating func pass(_ span: String) throws -> [String] {
        guard let length = Milliseconds(duration: span) else {
            throw Fault("\"\(span)\" is not a duration: write for example after 5m")
        }
        guard var activity else { throw Fault("nothing has started yet") }
        now = now + length
        let outcome = fireDue(&activity, ActivitySettings()) ?? ActivityOutcome(.noop)
        self.activity = activity
        return shown("after \(span)", outcome)
    }

    /// The last outcome; `nil` where nothing was due.
    @discardableResult
    private func fireDue(_ activity: inout Activity, _ settings: ActivitySettings) -> ActivityOutcome? {
        var last: ActivityOutcome?
        for _ in 0..<10_000 {
            guard let outcome = activity.deadlineReached(by: now, settings: settings) else { break }
            last = outcome
        }
        return last
    }

    // MARK: What is shown

    private func shown(_ event: String, _ outcome: ActivityOutcome) -> [String] {
        let row = row()
        if json {
            let object: JSON = [
                "event": .string(event), "verdict": .string(outcome.verdict.rawValue),
                "row": row.map(JSON.object) ?? .null,
            ]
            return [object.description]
        }
        let head = "\(event) \(outcome.verdict.rawValue)\(row == nil ? ": not shown on \(view)" : "")"
        let notices = outcome.alert.map { [Notice(title: $0.title, body: $0.body)] } ?? []
        let cards = row.map { [Card(key: activity?.key.text ?? "", body: $0)] } ?? []
        let picture = Screen.draw(cards, view: view, at: now, width: width, notices: notices)
        return [head.harmless] + picture.text(color: Output.hasColor)
    }

    /// `nil` where the surface does not show the activity.
    private func row() -> JSONObject? {
        guard let activity else { return nil }
        var writer = JSONWriter()
        switch view {
        case .full: activity.writeFullRow(to: &writer)
        case .surface(let surface):
            let visible = VisibleActivity(activity, index: 0, app: 0)
            let placements = Projection.project(
                surface: surface, traits: Traits(), activities: [visible], competing: false)
            guard let placement = placements.first, placement.isShown else { return nil }
            SurfaceRow.write(activity, kind: kind, placement: placement, surface: surface, to: &writer)
        }
        return (try? JSONParser().parse(writer.bytes.span))?.object
    }
}
