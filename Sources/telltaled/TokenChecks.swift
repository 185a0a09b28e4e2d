import Hub
import Journal
import Server
import TelltaleEventLoop

/// Checks signed tokens on its own thread, one at a time. It takes them by itself, so that a busy loop delays none.
///
/// It has a lower priority than the loop's thread, because strangers cause most of this work.
final class TokenThread: Sendable {
    private struct State {
        var lanes = AddressLanes<PeerAddress, SessionID, WaitingCheck>()
        var isOver = false
    }

    private let state = Monitor(State())

    /// - Parameter done: Called on the thread.
    init(done: @escaping @Sendable (TokenVerdict, WaitingCheck) -> Void) {
        let state = state
        startThread(isBackground: true) {
            func next() -> WaitingCheck? {
                state.waitAndChange({ !$0.lanes.isEmpty || $0.isOver }) { $0.isOver ? nil : $0.lanes.next() }
            }
            while let waiting = next() { done(waiting.check.verdict(), waiting) }
        }
    }

    deinit {
        state.change { $0.isOver = true }
    }

    func check(_ checks: [(WaitingCheck, PeerAddress)]) {
        state.change { state in
            for (waiting, address) in checks { state.lanes.add(waiting, of: waiting.check.session, at: address) }
        }
    }

    /// No signature is checked for a peer that is gone.
    func forget(_ session: SessionID) {
        state.change { $0.lanes.remove(session) }
    }

    /// Forgets every token that waits.
    func forgetAll() {
        state.change { $0.lanes = AddressLanes() }
    }
}

/// A token that waits to be checked, and the number of the server whose connection sent it.
struct WaitingCheck: Sendable {
    let check: TokenCheck
    let server: Int
}

// Signed tokens.
extension Daemon {
    func check(_ tokens: [TokenCheck]) {
        let sender = mailbox.sender
        let thread =
            tokenThread
            ?? TokenThread { verdict, waiting in
                _ = sender.post(.tokenChecked(verdict, server: waiting.server))
            }
        tokenThread = thread
        thread.check(
            tokens.compactMap { check in
                connections[check.session].map {
                    (WaitingCheck(check: check, server: serverNumber), $0.peerAddress)
                }
            })
    }

    func tokenChecked(_ verdict: TokenVerdict, for server: Int) {
        if server == serverNumber { self.server.tokenChecked(verdict) }
    }
}
