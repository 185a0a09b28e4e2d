import Demo
import Foundation
import Simulation
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// Runs a ``Crowd`` with real sockets and a real clock: one scenario at one daemon.
final class LiveRun {
    enum Ending {
        case over, interrupted
        case noDaemon(String)
        case failed(String)
    }

    let crowd: Crowd
    private let endpoint: Endpoint
    private let tls: TLSContext?
    private let loop: EventLoop
    private var sockets: [Int: Socket] = [:]
    private var timer: TimerHandle?
    private var ending: Ending?
    private var hasConnected = false
    private var failuresInARow = 0
    private var isPumping = false
    /// Called about ten times a second.
    var onFrame: (LiveRun) -> Void = { _ in }

    /// How many connections in a row may fail before the daemon counts as gone.
    private static let failureLimit = 200
    private static let frameMilliseconds: Int64 = 100

    /// One connection, from the attempt on.
    private final class Socket {
        var attempt: ConnectAttempt?
        var connection: Connection?
        /// Bytes that wait for the connection, or for room in it.
        var output: [UInt8] = []
        var shutsWrite = false
        var readsNothing = false
    }

    /// A run speaks to one server, whose replies it checks: of several, the one that serves now.
    init(_ crowd: Crowd, at link: ToolClient) throws {
        self.crowd = crowd
        endpoint = try Self.serving(link)
        tls = link.isEncrypted ? try TLSContext(authorities: link.authorities) : nil
        crowd.token = link.token
        loop = try EventLoop()
    }

    private static func serving(_ link: ToolClient) throws -> Endpoint {
        guard link.endpoint.endpoints.count > 1 else { return link.endpoint.first }
        let configuration = ClientConfiguration(name: "telltale-sim", eventIDPrefix: "probe").through(link)
        return try BlockingClient(to: link.endpoint, configuration: configuration, timeout: .seconds(20)).endpoint
    }

    /// Microseconds of a clock that never jumps.
    static var instant: Int64 { Int64(DispatchTime.now().uptimeNanoseconds / 1_000) }

    func run() throws -> Ending {
        defer { loop.shutDown() }
        let signals = try [SignalHandle.Signal.interrupt, .terminate, .hangUp].map { signal in
            try SignalHandle(signal, on: loop) { [weak self] in self?.end(.interrupted) }
        }
        timer = try TimerHandle(on: loop) { [weak self] _ in self?.live() }
        let frames = try TimerHandle(on: loop) { [weak self] _ in if let self { onFrame(self) } }
        frames.scheduleRepeating(everyMilliseconds: Self.frameMilliseconds)
        crowd.begin(at: Self.instant)
        live()
        loop.run()
        withExtendedLifetime(signals) {}
        frames.cancel()
        timer?.cancel()
        for socket in sockets.values {
            socket.attempt?.cancel()
            socket.connection?.close()
        }
        return ending ?? .interrupted
    }

    func end(_ ending: Ending) {
        if self.ending == nil { self.ending = ending }
        loop.stop()
    }

    /// Advances the crowd to the present and carries out its commands.
    func live() {
        guard !isPumping, ending == nil else { return }
        isPumping = true
        defer { isPumping = false }
        crowd.advance(to: Self.instant)
        var commands = crowd.takeCommands()
        while !commands.isEmpty {
            for command in commands { perform(command) }
            commands = crowd.takeCommands()
        }
        if let failure = crowd.failure { return end(.failed(failure)) }
        if crowd.isOver { return end(.over) }
        if let moment = crowd.nextMoment {
            timer?.schedule(afterMilliseconds: max(0, (moment - Self.instant + 999) / 1_000))
        } else {
            timer?.cancel()
        }
    }

    // MARK: Connections

    private func perform(_ command: Crowd.ConnectionCommand) {
        switch command {
        case .connect(let number): connect(number)
        case .write(let number, let bytes):
            sockets[number]?.output += bytes
            flush(number)
        case .shutWrite(let number):
            sockets[number]?.shutsWrite = true
            flush(number)
        case .close(let number):
            guard let socket = sockets.removeValue(forKey: number) else { return }
            socket.attempt?.cancel()
            socket.connection?.close()
        case .pauseReading(let number):
            sockets[number]?.readsNothing = true
            sockets[number]?.connection?.pauseReading()
        case .resumeReading(let number):
            sockets[number]?.readsNothing = false
            sockets[number]?.connection?.resumeReading()
        }
    }

    private func connect(_ number: Int) {
        let socket = Socket()
        sockets[number] = socket
        do throws(UVError) {
            socket.attempt = try ConnectAttempt(to: endpoint, on: loop, tls: tls) { [weak self] result in
                guard let self, let socket = sockets[number] else {
                    if case .success(let connection) = result { connection.close() }
                    return
                }
                socket.attempt = nil
                switch result {
                case .success(let connection): connected(connection, number, socket)
                case .failure(let error): lost(number, hasEnded: false, error.description)
                }
            }
        } catch {
            lost(number, hasEnded: false, error.description)
        }
    }

    private func connected(_ connection: Connection, _ number: Int, _ socket: Socket) {
        hasConnected = true
        failuresInARow = 0
        socket.connection = connection
        connection.start(
            ConnectionHandlers(
                onData: { [weak self] _, bytes in
                    guard let self, sockets[number] != nil else { return }
                    var copy: [UInt8] = []
                    copy.reserveCapacity(bytes.count)
                    for index in bytes.indices { copy.append(bytes[index]) }
                    crowd.received(copy, on: number, at: Self.instant)
                    live()
                },
                onEnd: { [weak self] connection in
                    connection.close()
                    self?.lost(number, hasEnded: true, "the daemon closed the connection")
                },
                onWritable: { [weak self] _ in self?.flush(number) },
                onClosed: { [weak self] _, reason in
                    guard case .failed(let error) = reason else { return }
                    self?.lost(number, hasEnded: false, error.description)
                }))
        if socket.readsNothing { connection.pauseReading() }
        flush(number)
    }

    private func flush(_ number: Int) {
        guard let socket = sockets[number], let connection = socket.connection, connection.isWritable else { return }
        if !socket.output.isEmpty {
            let bytes = socket.output
            socket.output = []
            _ = connection.write(bytes)
        }
        if socket.shutsWrite, connection.isWritable { connection.shutdownWrite() }
    }

    private func lost(_ number: Int, hasEnded: Bool, _ reason: String) {
        guard sockets.removeValue(forKey: number) != nil else { return }
        if !hasEnded { failuresInARow += 1 }
        guard hasConnected else { return end(.noDaemon(reason)) }
        guard failuresInARow < Self.failureLimit else { return end(.failed("the daemon went away: \(reason)")) }
        crowd.lost(number, hasEnded: hasEnded, at: Self.instant)
        live()
    }
}
