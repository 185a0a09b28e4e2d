/// The first fault of a JSON text, with its location.
///
/// The fast parser reports faults for programs. After it has refused a text, this slower one parses it again, strictly by RFC
/// 8259 and I-JSON, to report the line, the column and advice for the author.
package struct JSONFault: Hashable {
    /// Line and column are counted from 1; columns in Unicode scalars, as editors count them.
    package var line: Int
    package var column: Int
    /// The path of the value that was being read.
    package var path: String
    package var message: String
    package var advice: String

    /// The first fault of `bytes`; `nil` if there is none.
    package static func first(in bytes: [UInt8]) -> JSONFault? {
        var scanner = JSONScanner(bytes)
        do throws(JSONScanner.Fault) {
            try scanner.document()
            return nil
        } catch {
            let (line, column) = JSONScanner.place(of: error.offset, in: bytes)
            return JSONFault(
                line: line, column: column, path: scanner.path, message: error.message, advice: error.advice)
        }
    }
}
