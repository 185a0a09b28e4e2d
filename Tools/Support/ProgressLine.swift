import Cards
import Glibc
import TelltaleEventLoop
import TelltaleModel

/// One line on standard error that is drawn over and over, where standard error is a terminal that can do so.
public enum ProgressLine {
    /// Elsewhere a program prints no progress, or whole lines.
    public static let isShown = isatty(STDERR_FILENO) == 1 && Output.environment("TERM") != "dumb"

    private static let barWidth = 24

    /// Draws the line in the place of the one before.
    ///
    /// - Parameter fraction: 0 to 1; `nil` for a line without a bar.
    public static func show(_ text: String, fraction: Double? = nil) {
        guard isShown else { return }
        var line = text.harmless
        if let fraction {
            let filled = fraction.isFinite ? Int(Double(barWidth) * min(max(fraction, 0), 1)) : 0
            line = String(repeating: "█", count: filled) + String(repeating: "░", count: barWidth - filled) + " \(line)"
        }
        StandardStream.error.write("\r\(Output.hasUTF8 ? line : line.inASCII)\u{1B}[K")
    }

    /// Takes the line away.
    public static func clear() {
        if isShown { StandardStream.error.write("\r\u{1B}[K") }
    }
}
