import Cards
import Foundation
import Kinds
import Machines
import Surfaces
import TelltaleModel

/// Runs one widget of a kind without a daemon: `telltale kinds run` of a kind of type widget.
///
/// The lines are `timeline` with its tail, `reload`, `end`, and `after` with a duration. The present and later views
/// are printed before the first line and after each: those of one surface, with the widget's own configuration.
struct WidgetTrial {
    private let kind: Kind
    private let definition: WidgetKind
    private let surface: Surface
    private let json: Bool
    private let key: Key
    private var widget: Widget
    private var now: Timestamp
    private let start: Timestamp
    private var lineNumber = 0
    private(set) var hasFailed = false
    /// The fault of the last line; the caller empties it.
    var complaint: String?

    /// - Parameter now: The time at which the trial begins; `after` moves it.
    /// - Returns: `nil` for a kind with parameters but without a recommended configuration.
    init?(_ kind: Kind, _ definition: WidgetKind, surface: Surface, json: Bool, at now: Timestamp) {
        guard let id = definition.instances.first, let key = Key(kind: kind.name, id: id),
            let configuration = definition.configuration(ofID: id)
        else { return nil }
        (self.kind, self.definition, self.surface, self.json) = (kind, definition, surface, json)
        (self.key, self.now, start) = (key, now, now)
        widget = Widget(configuration: configuration, at: now)
    }

    /// The views before any line.
    func first() -> [String] { shown("start", Widget.Outcome(.applied, isChanged: true)) }

    /// One line of the input, without its end. Gives what is printed: nothing for a blank line or a comment.
    mutating func take(_ text: String) -> [String] {
        lineNumber += 1
        let line = text.trimmed
        guard !line.isEmpty, !line.hasPrefix("#") else { return [] }
        let parts = line.split(separator: " ", maxSplits: 1).map { String($0) }
        do {
            let outcome = try apply(parts[0], parts.count > 1 ? parts[1].trimmed : "")
            return shown(line.split(separator: "{", maxSplits: 1)[0].description.trimmed, outcome)
        } catch {
            hasFailed = true
            complaint = "line \(lineNumber): \((error as? Fault)?.text ?? "\(error)")"
            return []
        }
    }

    private struct Fault: Error { let text: String }

    private mutating func apply(_ word: String, _ tail: String) throws -> Widget.Outcome {
        switch word {
        case "after":
            guard let span = Milliseconds(duration: tail) else {
                throw Fault(text: "\"\(tail)\" is not a duration: write for example after 5m")
            }
            now = now + span
            return Widget.Outcome(.noop)
        case "reload": return widget.apply(.reload, kind: definition, at: now)
        case "timeline", "end":
            guard definition.isPushed else { throw Fault(text: "the content of this kind is computed, and not posted") }
            if word == "end" { return widget.apply(.ended, kind: definition, at: now) }
            guard let object = (try? JSONParser.parse(tail))?.object else {
                throw Fault(text: "a JSON object is expected behind timeline")
            }
            var unknown: [String] = []
            let timeline = try WidgetTimeline(tail: object, unknown: &unknown)
            guard unknown.isEmpty else { throw Fault(text: "a timeline has no \(unknown.joined(separator: ", "))") }
            return widget.apply(.timeline(timeline), kind: definition, at: now)
        default: throw Fault(text: "\"\(word)\" is none of timeline, reload, end and after")
        }
    }

    // MARK: What is shown

    private func shown(_ event: String, _ outcome: Widget.Outcome) -> [String] {
        let phase = widget.phase(at: now, kind: definition).rawValue
        let rows = widget.isGone ? [] : self.rows()
        if json {
            let object: JSON = [
                "event": .string(event), "verdict": .string(outcome.verdict.rawValue), "phase": .string(phase),
                "rows": .array(rows),
            ]
            return [object.description]
        }
        return ["\(event) \(outcome.verdict.rawValue) \(phase)".harmless]
            + rows.flatMap { WidgetPicture.lines(of: $0, at: now) }
    }

    /// A row of each family that the surface shows, in the first place that has it.
    private func rows() -> [JSON] {
        definition.families.compactMap { family in
            guard let scene = WidgetPicture.scene(of: definition, family, on: surface) else { return nil }
            var writer = JSONWriter()
            WidgetRow.write(
                widget, key: key, kind: kind, definition: definition, scene: scene,
                moments: widget.moments(at: now, kind: definition), to: &writer)
            return try? JSONParser().parse(writer.bytes.span)
        }
    }
}
