import Hub
import Journal
import Server
import TelltaleEventLoop

/// Checks signed tokens on its own thread, in order.
///
/// It has a lower priority than the loop's thread, because strangers cause most of this work.
final class TokenThread: Sendable {
    private struct State {
        var checks: [(check: TokenCheck, done: @Sendable (TokenVerdict) -> Void)] = []
        var isOver = false
    }

    private let state = Monitor(State())

    init() {
        let state = state
        startThread(isBackground: true) {
            while true {
                let (checks, isOver) = state.take({ !$0.checks.isEmpty || $0.isOver }) { state in
                    defer { state.checks = [] }
                    return (state.checks, state.isOver)
                }
                if isOver { return }
                for (check, done) in checks { done(check.verdict()) }
            }
        }
    }

    deinit {
        state.change { $0.isOver = true }
    }

    /// - Parameter done: Called on the thread.
    func check(_ check: TokenCheck, done: @escaping @Sendable (TokenVerdict) -> Void) {
        state.change { $0.checks.append((check, done)) }
    }
}

/// A token that waits to be checked, and the server whose connection sent it.
struct WaitingCheck: Sendable {
    let check: TokenCheck
    let server: Int
}

// Signed tokens.
extension Daemon {
    func check(_ tokens: [TokenCheck]) {
        for check in tokens {
            guard let address = connections[check.session]?.peerAddress else { continue }
            tokenLanes.add(WaitingCheck(check: check, server: serverNumber), of: address)
        }
        beginChecks()
    }

    func tokenChecked(_ verdict: TokenVerdict, for server: Int, from address: PeerAddress) {
        tokenLanes.ended(of: address)
        if server == serverNumber { self.server.tokenChecked(verdict) }
        beginChecks()
    }

    private func beginChecks() {
        let sender = mailbox.sender
        while let (waiting, address) = tokenLanes.next() {
            // No signature is checked for a peer that is gone.
            guard waiting.server == serverNumber, connections[waiting.check.session] != nil else {
                tokenLanes.ended(of: address)
                continue
            }
            let server = waiting.server
            tokenThread.check(waiting.check) { verdict in
                _ = sender.post(.tokenChecked(verdict, server: server, address))
            }
        }
    }
}
