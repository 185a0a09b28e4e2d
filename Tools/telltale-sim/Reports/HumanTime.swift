/// Durations as people write them: `0.83 ms`, `1.2 ms`, `45 ms`, `1.3 s`, `5m 30s`, `2h 05m`, `3d 4h`.
public enum HumanTime {
    public static func text(microseconds: Int64) -> String {
        let time = min(max(0, microseconds), .max - 500)
        if time < 995 { return "\(decimal(time, 1_000, places: 2)) ms" }
        if time < 9_950 { return "\(decimal(time, 1_000, places: 1)) ms" }
        if time < 999_500 { return "\((time + 500) / 1_000) ms" }
        return text(milliseconds: (time + 500) / 1_000)
    }

    public static func text(milliseconds: Int64) -> String {
        let time = min(max(0, milliseconds), .max - 500)
        if time < 1_000 { return "\(time) ms" }
        if time < 59_950 { return "\(decimal(time, 1_000, places: 1)) s" }
        let seconds = (time + 500) / 1_000
        let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400)
        if days > 0 { return "\(days)d \(hours % 24)h" }
        if hours > 0 { return "\(hours)h \(twoDigits(minutes % 60))m" }
        return "\(minutes)m \(twoDigits(seconds % 60))s"
    }

    /// A moment of a run, to a tenth of a second: `0:07.5`, `1:02:03.0`.
    static func moment(_ milliseconds: Int64) -> String {
        let time = max(0, milliseconds)
        let (seconds, minutes, hours) = (time / 1_000, time / 60_000, time / 3_600_000)
        let rest = "\(twoDigits(seconds % 60)).\(time % 1_000 / 100)"
        return hours > 0 ? "\(hours):\(twoDigits(minutes % 60)):\(rest)" : "\(minutes):\(rest)"
    }

    private static func decimal(_ value: Int64, _ unit: Int64, places: Int) -> String {
        let factor: Int64 = places == 1 ? 10 : 100
        let rounded = (value * factor + unit / 2) / unit
        let fraction = "\(rounded % factor)"
        return "\(rounded / factor).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Int {
    /// With its thousands apart: `12,345`.
    var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return (self < 0 ? "−" : "") + text
    }
}
