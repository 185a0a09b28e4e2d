import TelltaleEventLoop

enum StandardError {
    static func write(_ line: String) { StandardStream.error.write(line + "\n") }
}
