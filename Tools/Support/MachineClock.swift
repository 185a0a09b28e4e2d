import Foundation
public import TelltaleModel

extension Timestamp {
    /// Now, by the clock of this machine.
    public static var ofThisMachine: Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }
}
