import TelltaleEventLoop

/// One question and its answer over a connection of their own, beside the load of a measurement.
enum Exchange {
    /// Sends `text` and reads until the answer holds `end`, or five seconds are over.
    static func ask(_ endpoint: Endpoint, _ text: String, until end: String) throws -> String {
        let loop = try EventLoop()
        defer { loop.shutDown() }
        var answer: [UInt8] = []
        var open: Connection?
        let timer = try TimerHandle(on: loop) { _ in loop.stop() }
        timer.schedule(afterMilliseconds: 5_000)
        let handlers = ConnectionHandlers(
            onData: { connection, bytes in
                if answer.isEmpty { _ = connection.write(Array(text.utf8)) }
                for index in bytes.indices { answer.append(bytes[index]) }
                if String(decoding: answer, as: UTF8.self).contains(end) { loop.stop() }
            }, onEnd: { _ in loop.stop() }, onWritable: { _ in }, onClosed: { _, _ in loop.stop() })
        let attempt = try ConnectAttempt(to: endpoint, on: loop) { result in
            switch result {
            case .success(let connection):
                open = connection
                connection.start(handlers)
            case .failure: loop.stop()
            }
        }
        loop.run()
        attempt.cancel()
        timer.cancel()
        open?.close()
        return String(decoding: answer, as: UTF8.self)
    }

    /// Whether a connection is accepted there.
    static func isListening(_ endpoint: Endpoint) throws -> Bool {
        let loop = try EventLoop()
        defer { loop.shutDown() }
        var isListening = false
        let attempt = try ConnectAttempt(to: endpoint, on: loop) { result in
            if case .success(let connection) = result {
                isListening = true
                connection.close()
            }
            loop.stop()
        }
        loop.run()
        attempt.cancel()
        return isListening
    }
}
