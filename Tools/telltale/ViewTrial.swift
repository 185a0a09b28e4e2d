import Cards
import Foundation
import Kinds
import Machines
import Surfaces
import TelltaleModel
import ToolSupport
import Trials

/// Runs one activity of a kind without a daemon, and draws what a surface shows of it: `telltale kinds run --view`.
///
/// The lines are those of ``Kinds/MachineTrial``. The activity begins with the first line: with its tail where that is
/// `start`, or an event that starts the kind, else with nothing. It is alone on its surface, and no control exists.
struct ViewTrial {
    private let definition: ActivityKind
    private let view: ViewName
    private let json: Bool
    private let width: Int
    private var trial: KindTrial
    private var lineNumber = 0
    private(set) var hasFailed = false

    /// - Parameter now: The time at which the trial begins; `after` moves it.
    /// - Returns: `nil` for a kind that cannot be tried.
    init?(_ kind: Kind, _ definition: ActivityKind, view: ViewName, json: Bool, width: Int, at now: Timestamp) {
        guard let trial = KindTrial(kind, id: "1042", at: now) else { return nil }
        (self.definition, self.view, self.json, self.width, self.trial) = (definition, view, json, width, trial)
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
            return try apply(word, details)
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
        guard !hasBegun, !hasFailed else { return [] }
        return take("start")
    }

    private struct Fault: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    private var hasBegun: Bool { !trial.state.isEmpty }

    private mutating func apply(_ name: String, _ details: EventDetails) throws -> [String] {
        var lines: [String] = []
        let starts = name == "start" || definition.startsOn.contains(definition.accept[name] ?? name)
        if !hasBegun, !starts {
            var nothing: [String] = []
            lines = try happened(
                .event("start", try EventDetails(tail: JSONObject(), unknown: &nothing)), named: "start")
        }
        return lines + (try happened(.event(name, details), named: name))
    }

    private mutating func pass(_ span: String) throws -> [String] {
        guard let length = Milliseconds(duration: span) else {
            throw Fault("\"\(span)\" is not a duration: write for example after 5m")
        }
        guard hasBegun else { throw Fault("nothing has started yet") }
        return try happened(.pass(length), named: "after \(span)")
    }

    private mutating func happened(_ step: KindTrial.Step, named name: String) throws -> [String] {
        _ = trial.take(step)
        let entry = trial.log.last { $0.step == trial.stepCount - 1 }
        if let entry, entry.verdict == nil { throw Fault(entry.note ?? "it is refused") }
        // Nothing was due.
        return shown(name, entry?.verdict ?? .noop)
    }

    // MARK: What is shown

    private func shown(_ event: String, _ verdict: Verdict) -> [String] {
        let row = row()
        if json {
            let object: JSON = [
                "event": .string(event), "verdict": .string(verdict.rawValue), "row": row.map(JSON.object) ?? .null,
            ]
            return [object.description]
        }
        let head = "\(event) \(verdict.rawValue)\(row == nil ? ": not shown on \(view)" : "")"
        let notices = trial.alert.map { [Notice(title: $0.title, body: $0.body)] } ?? []
        let cards = row.map { [Card(key: trial.key.text, body: $0)] } ?? []
        let picture = Screen.draw(cards, view: view, at: trial.now, width: width, notices: notices)
        return [head.harmless] + picture.text(color: Output.hasColor)
    }

    /// `nil` if the surface does not show the activity.
    private func row() -> JSONObject? {
        let bytes: [UInt8]? =
            switch view {
            case .full: trial.fullRow()
            case .surface(let surface): trial.row(on: surface, traits: Traits())
            }
        return bytes.flatMap { try? JSONParser().parse($0.span) }?.object
    }
}
