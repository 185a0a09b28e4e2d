import ArgumentParser
import Journal
import TelltaleModel

/// How a journal's command ends when it cannot do what it was asked for.
enum JournalFailure {
    /// With `--json` the error is an object too, so that a program need not read what is for people.
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
