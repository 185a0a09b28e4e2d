import Hub
import Journal
import Logging
import TelltaleEventLoop

/// The lines of `--log-level debug`: connections opened and closed, and each commit with the duration of its sync. They
/// contain no key, account or content.
extension Logger {
    func opened(_ id: SessionID) { debug("connection opened", metadata: ["conn": "\(id.logged)"]) }

    func closed(_ id: SessionID, _ connection: Connection, _ reason: Connection.CloseReason) {
        guard logLevel <= .debug else { return }
        var why = "closed"
        if case .failed(let error) = reason { why = error.description }
        debug(
            "connection closed",
            metadata: [
                "conn": "\(id.logged)", "received_bytes": "\(connection.receivedByteCount)",
                "sent_bytes": "\(connection.sentByteCount)", "why": "\(why)",
            ])
    }

    func committed(_ receipt: JournalReceipt) {
        guard logLevel <= .debug else { return }
        let milliseconds = (receipt.duration / .milliseconds(1) * 1_000).rounded() / 1_000
        debug(
            "committed", metadata: ["sync_ms": "\(milliseconds)", "wait_us": "\(Int(receipt.wait / .microseconds(1)))"])
    }
}

extension SessionID {
    /// As `conn=` names it to the client.
    fileprivate var logged: String { "c\(counter)" }
}
