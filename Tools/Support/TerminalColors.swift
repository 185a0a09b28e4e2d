/// Whether the variables of a person's environment allow colours on a terminal: NO_COLOR (https://no-color.org) and
/// CLICOLOR (https://bixense.com/clicolors). Into a pipe no colour is written, whatever they say.
///
/// - Parameter environment: The value of a variable; `nil` where it is not set.
public func allowsColors(_ environment: (String) -> String?) -> Bool {
    (environment("NO_COLOR") ?? "").isEmpty && environment("CLICOLOR") != "0"
}
