import TelltaleEventLoop
import TelltaleModel

enum StandardError {
    /// - Parameter text: One line or several. Characters that control a terminal are replaced by spaces.
    static func write(_ text: String) { StandardStream.error.write(text.harmlessLines + "\n") }
}
