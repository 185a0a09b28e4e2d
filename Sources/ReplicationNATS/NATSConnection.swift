internal import CTelltaleNATS
internal import Glibc
internal import TelltaleModel

/// A connection of the NATS library. Only one thread uses it.
@safe final class NATSConnection {
    struct Failure: Error {
        var text: String
        /// Whether the log store refuses the credentials.
        var isRefusal = false
    }

    private let raw: OpaquePointer

    static func load(_ path: String?) throws(Failure) {
        var text = [CChar](repeating: 0, count: 256)
        guard unsafe telltale_nats_load(path, &text, text.count) == 1 else {
            throw Failure(text: string(text).harmless)
        }
    }

    /// Connects. Blocks until that has succeeded or failed.
    init(_ configuration: NATSLogConfiguration, context: UInt64, patience: Int64) throws(Failure) {
        var text = [CChar](repeating: 0, count: 256)
        var isRefusal: CInt = 0
        let servers = unsafe configuration.servers.map { unsafe strdup($0) }
        let credentials = unsafe configuration.credentials.flatMap { unsafe strdup($0) }
        let name = unsafe strdup("telltaled \(configuration.node)")
        defer {
            unsafe servers.forEach { unsafe free($0) }
            unsafe free(credentials)
            unsafe free(name)
        }
        let pointers = unsafe servers.map { unsafe UnsafePointer($0) }
        let raw = unsafe pointers.withUnsafeBufferPointer { pointers in
            var options = unsafe telltale_nats_options()
            unsafe options.context = context
            unsafe options.message = { context, subject, status, sequence, pending, data, count in
                guard let subject = unsafe subject else { return }
                let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: data == nil ? 0 : count))
                let message = unsafe Incoming(
                    subject: String(cString: subject), status: Int(status), sequence: sequence, pending: pending,
                    bytes: bytes)
                Worker.received(.message(message), context: context)
            }
            unsafe options.change = { context, isUp in
                Worker.received(
                    .change(isUp: isUp == 1, text: isUp == 1 ? "connected again" : "the connection ended"),
                    context: context)
            }
            unsafe options.denial = { context, text in
                guard let text = unsafe text else { return }
                Worker.received(.denial(Denial(unsafe String(cString: text))), context: context)
            }
            unsafe options.servers = pointers.baseAddress
            unsafe options.server_count = CInt(pointers.count)
            unsafe options.credentials = UnsafePointer(credentials)
            unsafe options.name = UnsafePointer(name)
            unsafe options.connect_milliseconds = patience
            // After two unanswered pings the library changes servers, within half of the shortest lease.
            unsafe options.ping_milliseconds = 500
            return unsafe telltale_nats_connect(&options, &isRefusal, &text, text.count)
        }
        guard let raw = unsafe raw else {
            throw Failure(text: Self.string(text).harmless, isRefusal: isRefusal == 1)
        }
        unsafe self.raw = raw
    }

    /// Whether the library has given up on the connection, and no longer reconnects by itself.
    var isClosed: Bool { unsafe telltale_nats_is_closed(raw) == 1 }

    /// Closes it. No other call is allowed afterwards.
    func close() { unsafe telltale_nats_close(raw) }

    /// The address of the server, without user and password.
    var server: String {
        var text = [CChar](repeating: 0, count: 512)
        unsafe telltale_nats_server(raw, &text, text.count)
        return Self.string(text).harmless
    }

    func subscribe(_ subject: String) -> Bool { unsafe telltale_nats_subscribe(raw, subject) == 1 }

    /// The longest message that the server accepts, headers included.
    var longestMessage: Int { Int(clamping: unsafe telltale_nats_longest(raw)) }

    /// The outcome of sending a message.
    enum Outcome {
        case sent
        /// Longer than ``NATSConnection/longestMessage``. Nothing was sent.
        case tooLong
        /// Not connected, or the system accepts no bytes.
        case notSent
    }

    func publish(_ subject: String, answer: String?, header: (name: String, value: String)?, _ bytes: [UInt8])
        -> Outcome
    {
        let outcome = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe telltale_nats_publish(
                raw, subject, answer, header?.name, header?.value, bytes.baseAddress, bytes.count)
        }
        return switch outcome {
        case telltale_nats_sent: .sent
        case telltale_nats_too_long: .tooLong
        default: .notSent
        }
    }

    func request(
        _ subject: String, header: (name: String, value: String)? = nil, _ bytes: [UInt8], milliseconds: Int64
    ) -> [UInt8]? {
        var count = 0
        let answer = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe telltale_nats_request(
                raw, subject, header?.name, header?.value, bytes.baseAddress, bytes.count, milliseconds, &count)
        }
        guard let answer = unsafe answer else { return nil }
        defer { unsafe free(answer) }
        return unsafe Array(UnsafeBufferPointer(start: answer, count: count))
    }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
