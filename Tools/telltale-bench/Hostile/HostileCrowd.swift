import ArgumentParser
import CFanOut
import Foundation
import Glibc

/// Misbehaving clients.
enum HostileCrowd: String, CaseIterable, ExpressibleByArgument {
    /// Follow everything and read one byte a second.
    case slow
    /// Follow everything and read one byte in 20 s.
    case trickle
    /// Follow everything and read nothing.
    case stuck
    /// Connect, sometimes begin to speak, and break off.
    case connects
    /// Send lines that mean nothing, as fast as `rate` says.
    case nonsense
    /// Connect and never say a whole line.
    case silent
    /// One connection follows everything 256 times, and reads nothing.
    case pending
    /// One connection follows everything and gives it up, as fast as it is answered.
    case subscribes
    /// One connection follows everything 50 times as a watch, and is locked and unlocked as fast as it is answered.
    case flips
    /// One connection asks for the server's figures as fast as it is answered.
    case asks
    /// Begin a TLS handshake and say no more.
    case handshakes
    /// Begin a TLS handshake, and another one as soon as they are answered.
    case storm
    /// Send most of a TLS record of 16 KiB, and break off.
    case hellos
    /// Bring three signed tokens with a wrong signature each, and come again.
    case tokens
    /// Send events with thousands of names, in no order, without a pause.
    case json
    /// Ask for a reload of 400 kinds again and again (SIGHUP).
    case reloads

    /// The daemon that it is measured against.
    enum Surroundings: CaseIterable {
        case plain
        /// It and the healthy ones speak TLS.
        case encrypted
        /// The healthy ones have a token.
        case guarded
        case manyKinds
    }

    /// `nil` = it is no client.
    var kind: CInt? {
        let kind: Int? =
            switch self {
            case .slow: FANOUT_READS_SLOWLY
            case .trickle: FANOUT_TRICKLES
            case .stuck: FANOUT_NEVER_READS
            case .connects: FANOUT_CONNECTS
            case .nonsense: FANOUT_SENDS_NONSENSE
            case .silent: FANOUT_IS_SILENT
            case .pending: FANOUT_OWES
            case .subscribes: FANOUT_SUBSCRIBES
            case .flips: FANOUT_FLIPS
            case .asks: FANOUT_ASKS
            case .handshakes: FANOUT_IS_HALF_OPEN
            case .storm: FANOUT_STORMS
            case .hellos: FANOUT_BREAKS_OFF
            case .tokens: FANOUT_TRIES
            case .json: FANOUT_PIPELINES
            case .reloads: nil
            }
        return kind.map { CInt($0) }
    }

    /// Whether the daemon may cut them because they take no byte.
    var mayBeCut: Bool {
        switch self {
        case .slow, .trickle, .stuck, .pending: true
        case _: false
        }
    }

    /// One that asks for as much as it may, or an attacker: it may not cost others more than 20 ms, and the daemon 32 MiB
    /// (promise P7). The others are compared with a time without them.
    var hasFixedBound: Bool {
        switch self {
        case .pending, .subscribes, .flips, .asks, .storm, .hellos, .tokens, .json, .reloads: true
        case .slow, .trickle, .stuck, .connects, .nonsense, .silent, .handshakes: false
        }
    }

    var surroundings: Surroundings {
        switch self {
        case .handshakes, .storm, .hellos: .encrypted
        case .tokens: .guarded
        case .reloads: .manyKinds
        case _: .plain
        }
    }

    /// Milliseconds that the p99 of the healthy may be longer than 1.1 times what it is without it. A handshake takes a
    /// third of one, and four of them are a turn.
    var excessLimit: Double { self == .handshakes ? 2 : 0.5 }

    /// How many there are.
    var count: Int {
        switch self {
        case .slow, .trickle: 100
        case .stuck: 10
        case .connects, .pending, .subscribes, .flips, .asks: 1
        case .nonsense: 8
        case .silent: 1_000
        case .handshakes: 10_000
        case .storm: 400
        case .hellos: 256
        case .tokens: 1_500
        case .json: 6
        case .reloads: 0
        }
    }

    /// How many of them it says are ready, before it begins.
    var readyCount: Int { self == .connects ? 0 : count }

    /// Connects, lines or signals a second.
    var rate: Double {
        switch self {
        case .connects, .tokens: 500
        case .nonsense: 20_000
        case .hellos: 900
        case .reloads: 50
        case _: 0
        }
    }

    /// What each of them says.
    var text: String {
        switch self {
        case .tokens: String(repeating: "HELLO token=\(BenchTokens.badToken)\n", count: 3)
        // More names than a tail may have, and as many as it may.
        case .json: Self.event(names: 5_800) + Self.event(names: 2_047)
        case _: ""
        }
    }

    private static func event(names count: Int) -> String {
        // A prime number of steps goes through all of them, in no order.
        let members = (0..<count).map { "\"k\($0 * 7_919 % count)\":1" }.joined(separator: ",")
        return "EVT tally/hostile type=tick {\"content-state\":{\(members)}}\n"
    }

    var description: String {
        switch self {
        case .slow: "\(count) that follow everything and read 1 byte a second"
        case .trickle: "\(count) that follow everything and read 1 byte in 20 s"
        case .stuck: "\(count) that follow everything and read nothing"
        case .connects: "\(Int(rate)) connects a second, broken off"
        case .nonsense: "\(Int(rate)) senseless lines a second"
        case .silent: "\(count) that connect and say nothing"
        case .pending: "one that follows everything 256 times, half of them as watches of accounts, and reads nothing"
        case .subscribes: "one that follows everything and gives it up, as a watch of an account too, without a pause"
        case .flips: "one that follows everything 50 times and is locked and unlocked without a pause"
        case .asks: "one that asks for the figures without a pause"
        case .handshakes: "\(count) that begin a TLS handshake and say no more"
        case .storm: "\(count) that begin a TLS handshake, and another as soon as they are answered"
        case .hellos: "\(Int(rate)) a second that send 16,380 bytes of a first TLS record and break off"
        case .tokens: "\(count) that bring three badly signed tokens each, and come again"
        case .json: "\(count) that send events of 5,800 and of 2,048 names without a pause"
        case .reloads: "\(Int(rate)) SIGHUP a second, with \(BenchKinds.count) kinds of \(BenchKinds.stateCount) states"
        }
    }
}

/// `telltale-bench crowd`: the crowd as a process of its own, for `hostile`.
struct CrowdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crowd", abstract: "Clients that nobody wants, which hostile starts.", shouldDisplay: false)

    @Argument var crowd: HostileCrowd
    @Option var port: UInt16
    @Option(help: "The process of the server.") var server: Int32

    func run() throws {
        Processors.takeLoadProcessor()
        guard let kind = crowd.kind else { return signalServer() }
        _ = unsafe fanout_crowd(port, kind, CInt(crowd.count), crowd.rate, crowd.text)
    }

    /// Until it is ended.
    private func signalServer() {
        print("ready \(crowd.readyCount)")
        fflush(nil)
        while kill(server, SIGHUP) == 0 { usleep(UInt32(1e6 / crowd.rate)) }
    }
}
