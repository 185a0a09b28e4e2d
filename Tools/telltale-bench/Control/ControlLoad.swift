import Foundation
import Histogram
import TelltaleEventLoop

/// A provider that answers at once, and screens: one taps, and all wait for the settled row.
final class ControlLoad {
    private final class Party {
        let number: Int
        var connection: Connection?
        /// The beginning of a line whose end has not come yet.
        var rest: [UInt8] = []
        var isLive = false
        /// The newest operation that it was notified of as confirmed.
        var confirmed = ""

        init(_ number: Int) {
            self.number = number
        }
    }

    private let loop: EventLoop
    private let endpoint: Endpoint
    /// The provider first, then the screens.
    private let parties: [Party]
    private let between: () throws -> Void
    private let rest: Int64
    private var attempts: [ConnectAttempt] = []
    private var remaining: Int
    private let warmUp: Int
    private var done = 0
    private var isOn = false
    private var operation = ""
    private var tappedAt = ContinuousClock.now
    private var isWaiting = false
    private var latency = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
    private var timer: TimerHandle?
    private var watchdog: TimerHandle?
    private var failure: (any Error)?

    private static let views = ["carplay", "watch", "phone", "desktop", "full", "pad"]

    /// - Parameter between: Is called before each tap.
    init(
        _ endpoint: Endpoint, screens: Int, taps: Int, warmUp: Int, rest: Int64, between: @escaping () throws -> Void
    ) throws {
        self.endpoint = endpoint
        loop = try EventLoop()
        parties = (0...screens).map { Party($0) }
        remaining = taps + warmUp
        self.warmUp = warmUp
        self.rest = rest
        self.between = between
    }

    /// - Returns: From the `SET` to the last screen's settled row, in microseconds.
    func run() throws -> Histogram<UInt64> {
        defer { loop.shutDown() }
        let handlers = ConnectionHandlers(
            onData: { [unowned self] connection, bytes in received(bytes, parties[connection.tag]) },
            onEnd: { [unowned self] _ in fail("the daemon closed a connection") }, onWritable: { _ in },
            onClosed: { _, _ in })
        timer = try TimerHandle(on: loop) { [unowned self] _ in tap() }
        watchdog = try TimerHandle(on: loop) { [unowned self] _ in fail("no confirmation within 10 s") }
        watchdog?.schedule(afterMilliseconds: 10_000)
        for party in parties {
            attempts.append(
                try ConnectAttempt(to: endpoint, on: loop) { [unowned self] result in
                    switch result {
                    case .success(let connection):
                        connection.tag = party.number
                        party.connection = connection
                        connection.start(handlers)
                        begin(party)
                    case .failure(let error): fail("\(error)")
                    }
                })
        }
        loop.run()
        timer?.cancel()
        watchdog?.cancel()
        for attempt in attempts { attempt.cancel() }
        for party in parties { party.connection?.close() }
        if let failure { throw failure }
        return latency
    }

    private func begin(_ party: Party) {
        if party.number == 0 {
            send("SERVE porch-light\nREPORT porch-light/front value=off id=ready\n", as: party)
        } else {
            send("SUB porch-light/* view=\(Self.views[party.number % Self.views.count])\n", as: party)
        }
    }

    private func send(_ text: String, as party: Party) { _ = party.connection?.write(Array(text.utf8)) }

    private func tap() {
        do { try between() } catch { return fail(error) }
        isOn.toggle()
        operation = ""
        isWaiting = true
        watchdog?.schedule(afterMilliseconds: 10_000)
        tappedAt = .now
        send("SET porch-light/front value=\(isOn ? "on" : "off")\n", as: parties[1])
    }

    private func received(_ bytes: Span<UInt8>, _ party: Party) {
        for index in bytes.indices {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\n") else {
                party.rest.append(byte)
                continue
            }
            heard(party.rest, by: party)
            party.rest.removeAll(keepingCapacity: true)
        }
    }

    /// Rows are compared as bytes. Parsing them would take time that is not the daemon's.
    private func heard(_ bytes: [UInt8], by party: Party) {
        guard bytes.starts(with: Self.row) else { return heard(String(decoding: bytes, as: UTF8.self), by: party) }
        guard let start = bytes.end(of: Self.lastOperation), bytes.end(of: Self.isConfirmed) != nil,
            bytes.end(of: Self.isSettled) != nil
        else { return }
        party.confirmed = String(decoding: bytes[start...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        finishIfConfirmed()
    }

    private static let row = Array("UPD ".utf8)
    private static let lastOperation = Array(#""last":{"op":""#.utf8)
    private static let isConfirmed = Array(#""result":"confirmed"}"#.utf8)
    private static let isSettled = Array(#""phase":"settled""#.utf8)

    private func heard(_ line: String, by party: Party) {
        if line.hasPrefix("DO ") {
            guard let operation = word("op=", in: line), let value = word("value=", in: line) else { return }
            send("DONE op=\(operation) value=\(value)\n", as: party)
        } else if line.hasPrefix("ERR ") {
            fail(line)
        } else if line.hasPrefix("LIVE ") || line.contains("id=ready") {
            party.isLive = true
            if !isWaiting, done == 0, parties.allSatisfy(\.isLive) { timer?.schedule(afterMilliseconds: 100) }
        } else if line.hasPrefix("OK op=") {
            operation = word("op=", in: line) ?? ""
            finishIfConfirmed()
        }
    }

    private func word(_ name: String, in line: String) -> String? {
        line.split(separator: " ").first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
    }

    private func finishIfConfirmed() {
        guard isWaiting, !operation.isEmpty, parties.dropFirst().allSatisfy({ $0.confirmed == operation }) else {
            return
        }
        let took = ContinuousClock.now - tappedAt
        isWaiting = false
        done += 1
        if done > warmUp { latency.record(UInt64(took / .microseconds(1))) }
        remaining -= 1
        guard remaining > 0 else { return loop.stop() }
        timer?.schedule(afterMilliseconds: rest)
    }

    private func fail(_ text: String) { fail(ServerProcess.StartFailure(description: text)) }

    private func fail(_ error: any Error) {
        failure = failure ?? error
        loop.stop()
    }
}

extension [UInt8] {
    /// Where the first `needle` ends.
    fileprivate func end(of needle: [UInt8]) -> Int? {
        guard let first = needle.first, count >= needle.count else { return nil }
        for start in 0...(count - needle.count) where self[start] == first {
            if self[start..<start + needle.count].elementsEqual(needle) { return start + needle.count }
        }
        return nil
    }
}
