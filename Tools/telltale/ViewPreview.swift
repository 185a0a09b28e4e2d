import Cards
import Foundation
import KindPreview
import Kinds
import Machines
import Surfaces
import TelltaleModel
import ToolSupport

/// Runs one activity of a kind without a daemon, and draws what a surface shows of it: `telltale kinds run --view`.
///
/// The lines are those of ``Kinds/MachinePreview``. The activity begins with the first line: with its tail where that is
/// `start`, or an event that starts the kind, else with nothing. It is alone on its surface, and no control exists.
struct ViewPreview: DrawnPreview {
    private let definition: ActivityKind
    private let view: ViewName
    private let json: Bool
    private let width: Int
    private var preview: EntityPreview

    /// - Parameter now: The time at which the preview begins; `after` moves it.
    /// - Returns: `nil` for a kind that cannot be tried.
    init?(_ kind: Kind, _ definition: ActivityKind, view: ViewName, json: Bool, width: Int, at now: Timestamp) {
        guard let preview = EntityPreview(kind, id: "1042", at: now) else { return nil }
        (self.definition, self.view, self.json, self.width, self.preview) = (definition, view, json, width, preview)
    }

    mutating func apply(_ word: String, _ tail: String) throws -> [String] {
        var unknown: [String] = []
        guard EventName.isValid(word), let object = (tail.isEmpty ? [:] : try? JSONParser.parse(tail))?.object else {
            let line = "\(word) \(tail)".trimmed
            throw PreviewFault(text: "\"\(line)\" is neither an event's name, nor one with a JSON object behind it")
        }
        let details = try EventDetails(tail: object, unknown: &unknown)
        guard unknown.isEmpty else { throw PreviewFault(text: "an event has no \(unknown.joined(separator: ", "))") }
        var lines: [String] = []
        let starts = word == "start" || definition.startsOn.contains(definition.accept[word] ?? word)
        if !hasBegun, !starts {
            var nothing: [String] = []
            lines = try happened(
                .event("start", try EventDetails(tail: JSONObject(), unknown: &nothing)), named: "start")
        }
        return lines + (try happened(.event(word, details), named: word))
    }

    mutating func pass(_ span: Milliseconds, _ text: String) throws -> [String] {
        guard hasBegun else { throw PreviewFault(text: "nothing has started yet") }
        return try happened(.pass(span), named: text)
    }

    /// The picture before any event, for an input without a line.
    mutating func finish() throws -> [String] { hasBegun ? [] : try apply("start", "") }

    private var hasBegun: Bool { !preview.state.isEmpty }

    private mutating func happened(_ step: EntityPreview.Step, named name: String) throws -> [String] {
        _ = preview.performStep(step)
        let entry = preview.log.last { $0.step == preview.stepCount - 1 }
        if let entry, entry.verdict == nil { throw PreviewFault(text: entry.note ?? "it is refused") }
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
        let notices = preview.alert.map { [Notice(title: $0.title, body: $0.body)] } ?? []
        let cards = row.map { [Card(key: preview.key.text, body: $0)] } ?? []
        let picture =
            view == .full
            ? TerminalScreen.cards(cards, titles: KindTitles(), at: preview.now, width: width)
            : TerminalScreen.draw(cards, view: view, at: preview.now, width: width, notices: notices)
        return [head.harmless] + picture.text(color: Output.hasColor)
    }

    /// `nil` if the surface does not show the activity.
    private func row() -> JSONObject? {
        let bytes: [UInt8]? =
            switch view {
            case .full: preview.fullRow()
            case .surface(let surface): preview.row(on: surface, traits: Traits())
            }
        return bytes.flatMap { try? JSONParser().parse($0.span) }?.object
    }
}
