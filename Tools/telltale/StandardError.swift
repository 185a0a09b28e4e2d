import TelltaleEventLoop
import TelltaleModel

enum StandardError {
    /// - Parameter text: One line or several. What would make a terminal do something is taken out of it, whoever wrote it:
    ///   the name of a file, a title, an argument.
    static func write(_ text: String) { StandardStream.error.write(text.harmlessLines + "\n") }
}
