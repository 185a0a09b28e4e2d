import Foundation
import Glibc
import TelltaleEventLoop

/// Standard input for a loop, whatever it is: a terminal, a pipe, a file.
///
/// A separate thread reads, because a loop cannot wait for a file. It continues when the owner has taken a piece, so
/// only one piece of a large file is in memory.
final class StandardInput {
    private let mailbox: Mailbox<[UInt8]>
    /// Starts at 0, because releasing a semaphore below its first value crashes.
    private let permits = DispatchSemaphore(value: 0)

    private static let pieceByteCount = 65_536

    /// - Parameter onPiece: Called with each piece, and with an empty one at the end. The next one comes after
    ///   ``readOn()``.
    init(on loop: EventLoop, onPiece: @escaping ([UInt8]) -> Void) throws(UVError) {
        mailbox = try Mailbox(on: loop) { pieces in for piece in pieces { onPiece(piece) } }
        let (sender, permits) = (mailbox.sender, permits)
        permits.signal()
        Thread.detachNewThread {
            while true {
                permits.wait()
                var piece = [UInt8](repeating: 0, count: Self.pieceByteCount)
                var count = -1
                repeat {
                    count = unsafe Glibc.read(STDIN_FILENO, &piece, piece.count)
                } while count < 0 && errno == EINTR
                // An input that cannot be read has ended.
                guard sender.post(Array(piece[..<max(0, count)])), count > 0 else { return }
            }
        }
    }

    func readOn() { permits.signal() }
}
