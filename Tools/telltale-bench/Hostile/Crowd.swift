import ArgumentParser
import CFanOut
import Foundation

/// Misbehaving clients.
enum Crowd: String, CaseIterable, ExpressibleByArgument {
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
    case owes
    /// One connection follows everything and gives it up, as fast as it is answered.
    case subscribes
    /// One connection follows everything 50 times as a watch, and is locked and unlocked as fast as it is answered.
    case flips
    /// One connection asks for the server's figures as fast as it is answered.
    case asks
    /// Begin a TLS handshake and say no more.
    case handshakes

    var kind: CInt {
        let kind =
            switch self {
            case .slow: FANOUT_READS_SLOWLY
            case .trickle: FANOUT_TRICKLES
            case .stuck: FANOUT_NEVER_READS
            case .connects: FANOUT_CONNECTS
            case .nonsense: FANOUT_SENDS_NONSENSE
            case .silent: FANOUT_IS_SILENT
            case .owes: FANOUT_OWES
            case .subscribes: FANOUT_SUBSCRIBES
            case .flips: FANOUT_FLIPS
            case .asks: FANOUT_ASKS
            case .handshakes: FANOUT_IS_HALF_OPEN
            }
        return CInt(kind)
    }

    /// Whether the daemon may cut them because they take no byte.
    var mayBeCut: Bool {
        switch self {
        case .slow, .trickle, .stuck, .owes: true
        case .connects, .nonsense, .silent, .subscribes, .flips, .asks, .handshakes: false
        }
    }

    /// One connection that asks for as much as it may. It may not cost others more than 20 ms, and the daemon 32 MiB.
    var isGreedy: Bool {
        switch self {
        case .owes, .subscribes, .flips, .asks: true
        case .slow, .trickle, .stuck, .connects, .nonsense, .silent, .handshakes: false
        }
    }

    /// Whether it and the healthy ones speak TLS.
    var isEncrypted: Bool { self == .handshakes }

    /// Milliseconds that the p99 of the healthy may be longer than 1.1 times what it is without it. A handshake takes a
    /// third of one, and four of them are a turn.
    var excessLimit: Double { self == .handshakes ? 2 : 0.5 }

    /// How many there are.
    var count: Int {
        switch self {
        case .slow, .trickle: 100
        case .stuck: 10
        case .connects, .owes, .subscribes, .flips, .asks: 1
        case .nonsense: 8
        case .silent: 1_000
        case .handshakes: 10_000
        }
    }

    /// Connects, or lines, a second.
    var rate: Double {
        switch self {
        case .slow, .trickle, .stuck, .silent, .owes, .subscribes, .flips, .asks, .handshakes: 0
        case .connects: 500
        case .nonsense: 20_000
        }
    }

    var description: String {
        switch self {
        case .slow: "\(count) that follow everything and read 1 byte a second"
        case .trickle: "\(count) that follow everything and read 1 byte in 20 s"
        case .stuck: "\(count) that follow everything and read nothing"
        case .connects: "\(Int(rate)) connects a second, broken off"
        case .nonsense: "\(Int(rate)) senseless lines a second"
        case .silent: "\(count) that connect and say nothing"
        case .owes: "one that follows everything 256 times and reads nothing"
        case .subscribes: "one that follows everything and gives it up, without a pause"
        case .flips: "one that follows everything 50 times and is locked and unlocked without a pause"
        case .asks: "one that asks for the figures without a pause"
        case .handshakes: "\(count) that begin a TLS handshake and say no more"
        }
    }
}

/// `telltale-bench crowd`: the crowd as a process of its own, for `hostile`.
struct CrowdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crowd", abstract: "Clients that nobody wants, which hostile starts.", shouldDisplay: false)

    @Argument var crowd: Crowd
    @Option var port: UInt16

    func run() throws {
        Processors.takeLoadProcessor()
        _ = fanout_crowd(port, crowd.kind, CInt(crowd.count), crowd.rate)
    }
}
