public import TelltaleModel

/// The time left until an absolute date, as a display counts it down. Rows hold dates, and each display counts by
/// itself.
public enum Countdown {
    /// `4:07`, `1:02:09`, `3 d 4 h`; `0:00` when the date has passed.
    public static func text(until date: Timestamp, at now: Timestamp) -> String {
        let left = max(0, (date - now).count)
        // Rounds up to whole seconds, so that a timer of five minutes starts at 5:00.
        let seconds = left / 1000 + (left % 1000 > 0 ? 1 : 0)
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400)
        if days >= 2 { return "\(days) d \(hours % 24) h" }
        if hours > 0 { return "\(hours):\(twoDigits(minutes % 60)):\(twoDigits(seconds % 60))" }
        return "\(minutes):\(twoDigits(seconds % 60))"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// A fraction as a bar, in eighths of a column.
enum ProgressBar {
    /// - Parameter segments: The number of segments; 1 for a plain bar.
    static func line(_ fraction: Double, width: Int, segments: Int = 1, ink: Ink = Ink(.green)) -> Line {
        let fraction = fraction.isFinite ? min(max(fraction, 0), 1) : 0
        let segments = min(max(1, segments), max(1, width / 3))
        var line = Line()
        for segment in 0..<segments {
            if segment > 0 { line.append(" ") }
            let room = width - (segments - 1)
            let length = room / segments + (segment < room % segments ? 1 : 0)
            let share = min(max(fraction * Double(segments) - Double(segment), 0), 1)
            line.append(bar(share, width: length, ink: ink))
        }
        return line
    }

    private static func bar(_ fraction: Double, width: Int, ink: Ink) -> Line {
        let eighths = Int((fraction * Double(width * 8)).rounded())
        let full = eighths / 8
        var line = Line(String(repeating: "█", count: full), ink)
        var rest = width - full
        if eighths % 8 > 0, rest > 0 {
            line.append(["▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8 - 1], ink)
            rest -= 1
        }
        line.append(String(repeating: "░", count: rest), .dim)
        return line
    }

    static func percent(_ fraction: Double) -> String {
        guard fraction.isFinite else { return "" }
        return "\(Int((min(max(fraction, 0), 1) * 100).rounded()))%"
    }
}
