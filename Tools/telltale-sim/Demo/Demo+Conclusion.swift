import Cards
import Foundation
import Recordings
import TelltaleModel
import ToolSupport

// The end: the data is compared with the daemon and with every screen.
extension Demo {
    func conclude() -> Ending {
        let check = compare()
        let isRight =
            check.isClean && replayer?.summary.isClean == true && light?.isRight == true
            && widget.agrees(on: screens) && takeover?.isRight != false
        Output.text(summary(check, isRight: isRight))
        close()
        return isRight ? .agreed : .disagreed
    }

    /// Compares the final state of each case, on the server and on every screen, with the data.
    private func compare() -> OutcomeCheck {
        var check = OutcomeCheck()
        for each in plan.cases {
            let key = each.key.text
            let title = titles.title(of: each.expectedState, kind: each.key.kind)
            var found: [(place: String, state: String?)] = [
                ("the daemon", replayer?.states[key]),
                (
                    "the full view",
                    wasAway(full, key) ? each.expectedState : full.shown[key]?.lastBody?["state"]?.string
                ),
            ]
            for screen in screens {
                let shown = screen.shown[key]
                let body: String?
                if wasAway(screen, key) {
                    body = each.expectedState
                } else if screen.surface == .carplay, isOver(key) {
                    // CarPlay removes ended activities.
                    body = shown?.body == nil ? each.expectedState : "still there"
                } else {
                    let text = shown?.lastBody?["view"].map { Self.texts(of: $0) } ?? []
                    body = text.contains(title) ? each.expectedState : text.joined(separator: " ")
                }
                found.append((screen.name, body))
            }
            check.compare(each.key, expected: each.expectedState, found: found)
        }
        return check
    }

    /// Whether the case ended and left while this screen had no connection: then the deletion was due to it, and has it.
    private func wasAway(_ screen: DemoScreen, _ key: String) -> Bool {
        guard let end = newest[key] else { return false }
        return screen.shown[key]?.end.awaitsDeletionAlone(of: end) == true
    }

    /// Every text in a view.
    private static func texts(of view: JSON) -> [String] {
        switch view {
        case .string(let text): [text]
        case .object(let object): object.flatMap { texts(of: $0.value) }
        case .array(let array): array.flatMap { texts(of: $0) }
        case .null, .bool, .integer, .number: []
        }
    }

    private func summary(_ check: OutcomeCheck, isRight: Bool) -> String {
        var lines: [String] = []
        func add(_ name: String, _ text: String) {
            lines.append("  " + name + String(repeating: " ", count: max(1, 15 - name.count)) + text)
        }
        lines.append("")
        lines.append(title)
        lines.append("")
        let same = "ended as the data says, on the server and on all three screens"
        add("cases", "\(check.agreementCount) of \(plan.cases.count) \(same)")
        for (name, kind) in [("orders", "parcel"), ("flights", "flight")] {
            var counts = OutcomeCheck()
            for each in plan.cases where each.key.kind == kind {
                counts.compare(each.key, expected: each.expectedState, found: [])
            }
            add(name, counts.countsText)
        }
        if let summary = replayer?.summary {
            let verdicts = summary.tally.counts.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
            add("events", "\(plan.posts.count) posted: \(verdicts); \(seconds(summary.elapsed))")
            if let failure = summary.tally.firstFailure { add("", "first failure: \(failure)") }
        }
        for (index, screen) in screens.enumerated() {
            let (half, most) = (screen.latency.percentile(50), screen.latency.percentile(99))
            add(
                index == 0 ? "event to view" : "",
                "\(screen.name) p50 \(milliseconds(half)), p99 \(milliseconds(most)) (\(screen.latency.count) rows)"
            )
        }
        for (index, text) in (takeover?.summary ?? []).enumerated() { add(index == 0 ? "takeover" : "", text) }
        let awayCount = plan.cases.count { each in ([full] + screens).contains { wasAway($0, each.key.text) } }
        if awayCount > 0 {
            add(
                "",
                "\(awayCount) of the cases ended and left before every screen was back, which was told of their leaving"
            )
        }
        add("widget", widget.summary(on: screens))
        if let light { add("porch light", light.summary) }
        for disagreement in check.disagreements.prefix(10) { lines.append("  ✗ \(disagreement)") }
        if check.disagreements.count > 10 { lines.append("  … and \(check.disagreements.count - 10) more") }
        lines.append("")
        lines.append(isRight ? "Everything agrees." : "Something disagrees.")
        return lines.joined(separator: "\n")
    }

    private func seconds(_ span: Milliseconds) -> String { "\(span.count / 1000).\(span.count % 1000 / 100) s" }

    func milliseconds(_ microseconds: UInt64) -> String {
        let hundredths = (microseconds + 5) / 10
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) ms"
    }
}
