import Foundation
import Glibc
import TestSupport

/// A monitor that takes one connection, and answers a byte at a time.
final class SlowMonitor {
    private let listener: LocalListener

    var port: UInt16 { listener.port }

    /// - Parameter pause: Microseconds before each byte.
    init(answer: String, pause: UInt32) throws {
        listener = try LocalListener(backlog: 1)
        Thread.detachNewThread { [listener] in
            let accepted = accept(listener.descriptor, nil, nil)
            var request = [UInt8](repeating: 0, count: 1_024)
            _ = unsafe recv(accepted, &request, request.count, 0)
            for byte in answer.utf8 {
                usleep(pause)
                var byte = byte
                guard unsafe send(accepted, &byte, 1, CInt(MSG_NOSIGNAL)) == 1 else { break }
            }
            close(accepted)
        }
    }
}
