import Foundation
import Kinds
import Machines
import Surfaces
import TelltaleModel

/// Runs one widget of a kind without a daemon: `telltale kinds run` of a kind of type widget.
///
/// The lines are `timeline` with its tail, `reload`, `end`, and `after` with a duration. The present and later views
/// are printed before the first line and after each: those of one surface, with the widget's own configuration.
struct WidgetPreview: DrawnPreview {
    private let kind: Kind
    private let definition: WidgetKind
    private let surface: Surface
    private let json: Bool
    private let key: Key
    private var widget: Widget
    private var now: Timestamp

    /// - Parameter now: The time at which the preview begins; `after` moves it.
    /// - Returns: `nil` for a kind with parameters but without a recommended configuration.
    init?(_ kind: Kind, _ definition: WidgetKind, surface: Surface, json: Bool, at now: Timestamp) {
        guard let id = definition.instances.first, let key = Key(kind: kind.name, id: id),
            let configuration = definition.configuration(ofID: id)
        else { return nil }
        (self.kind, self.definition, self.surface, self.json) = (kind, definition, surface, json)
        (self.key, self.now) = (key, now)
        widget = Widget(configuration: configuration, at: now)
    }

    /// The views before any line.
    func first() -> [String] { shown("start", Widget.Outcome(.applied, isChanged: true)) }

    mutating func apply(_ word: String, _ tail: String) throws -> [String] {
        let outcome = try outcome(word, tail)
        return shown("\(word) \(tail)".split(separator: "{", maxSplits: 1)[0].description.trimmed, outcome)
    }

    mutating func pass(_ span: Milliseconds, _ text: String) -> [String] {
        now = now + span
        return shown(text, Widget.Outcome(.noop))
    }

    private mutating func outcome(_ word: String, _ tail: String) throws -> Widget.Outcome {
        switch word {
        case "reload": return widget.apply(.reload, kind: definition, at: now)
        case "timeline", "end":
            guard definition.isPushed else {
                throw PreviewFault(text: "the content of this kind is computed, and not posted")
            }
            if word == "end" { return widget.apply(.ended, kind: definition, at: now) }
            guard let object = (try? JSONParser.parse(tail))?.object else {
                throw PreviewFault(text: "a JSON object is expected behind timeline")
            }
            var unknown: [String] = []
            let timeline = try WidgetTimeline(tail: object, unknown: &unknown)
            guard unknown.isEmpty else {
                throw PreviewFault(text: "a timeline has no \(unknown.joined(separator: ", "))")
            }
            return widget.apply(.timeline(timeline), kind: definition, at: now)
        default: throw PreviewFault(text: "\"\(word)\" is none of timeline, reload, end and after")
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
