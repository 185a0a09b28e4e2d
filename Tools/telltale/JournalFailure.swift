import ArgumentParser
import TelltaleModel
import ToolSupport

/// The end of a journal command that cannot do its work.
enum JournalFailure {
    /// With `--json` the error is an object too, so that a program need not parse text.
    static func report<Result>(asJSON json: Bool, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as ExitCode {
            throw error
        } catch {
            guard json else { throw error }
            Output.json(["ok": false, "error": .string("\(error)")])
            throw ExitCode.failure
        }
    }
}
