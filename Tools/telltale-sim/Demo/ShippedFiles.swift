import CShippedFiles
import Recordings
import TelltaleModel

/// The files that are inside the program: scenarios, their data, and kind files. The program needs no folder of its source.
package enum ShippedFiles {
    package struct File {
        /// `scenarios/NAME.json`, `scenarios/data/NAME.csv` or `kinds/NAME.json`.
        package var name: String
        package var bytes: [UInt8]
    }

    package static var all: [File] {
        (0..<telltale_shipped_file_count()).map { unsafe file(telltale_shipped_file_at($0)) }
    }

    /// - Returns: `nil` when no file of that name is inside.
    package static func bytes(of name: String) -> [UInt8]? {
        for index in 0..<telltale_shipped_file_count() {
            let entry = unsafe telltale_shipped_file_at(index)
            if unsafe String(cString: entry.name) == name { return unsafe file(entry).bytes }
        }
        return nil
    }

    private static func file(_ entry: telltale_shipped_file) -> File {
        unsafe File(
            name: String(cString: entry.name),
            bytes: Array(UnsafeBufferPointer(start: entry.bytes, count: entry.count)))
    }
}
