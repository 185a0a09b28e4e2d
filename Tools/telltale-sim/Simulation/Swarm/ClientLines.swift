import Model
import Wire

/// The lines of one connection, as a client reads them.
struct ClientLines {
    private var decoder = LineDecoder(lineLengthLimit: 1 << 20, deliversComments: true)
    private let parser = JSONParser()

    mutating func read(_ bytes: [UInt8]) -> (lines: [ServerLine], fault: String?) {
        var lines: [ServerLine] = []
        var fault: String?
        do throws(WireError) {
            try decoder.decode(bytes.span) { line in
                do throws(WireError) {
                    lines.append(try ServerLine(line, parser: parser))
                } catch {
                    fault = error.message
                }
            }
        } catch {
            fault = error.message
        }
        return (lines, fault)
    }

    mutating func begin() { decoder = LineDecoder(lineLengthLimit: 1 << 20, deliversComments: true) }
}
