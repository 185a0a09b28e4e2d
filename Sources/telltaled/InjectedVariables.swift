/// Environment variables that look like the daemon's own, but that other software sets for every program.
///
/// Each gets a warning only. A misspelt setting, which is an error, does not look like one of these.
enum InjectedVariables {
    /// The origin of the variable; `nil` if it must be meant for the daemon.
    static func source(of variable: String, value: String) -> String? {
        if serveVariables.contains(variable) { return "telltale serve sets it for the commands that it runs" }
        if variable == "TELLTALE_GATEWAY" || variable.hasPrefix("TELLTALE_GATEWAY_") {
            return "it is a setting of telltale-gateway"
        }
        guard isServiceLink(variable, value: value) else { return nil }
        return "a cluster sets it for a service named like it (enableServiceLinks: false in the pod turns that off)"
    }

    private static let serveVariables: Set<String> = [
        "TELLTALE_KEY", "TELLTALE_ACTION", "TELLTALE_VALUE", "TELLTALE_REASON", "TELLTALE_OP", "TELLTALE_DEADLINE",
    ]

    /// `TELLTALE_SERVICE_HOST`, `TELLTALE_SERVICE_PORT`, `TELLTALE_SERVICE_PORT_LINES`, `TELLTALE_PORT=tcp://…` and
    /// `TELLTALE_PORT_7878_TCP`, `…_PROTO`, `…_PORT`, `…_ADDR`; for a service `telltale-data` they begin with
    /// `TELLTALE_DATA`.
    private static func isServiceLink(_ variable: String, value: String) -> Bool {
        if variable.hasSuffix("_SERVICE_HOST") || variable.hasSuffix("_SERVICE_PORT") { return true }
        let words = variable.split(separator: "_")
        for (index, word) in words.enumerated().dropFirst() where word == "PORT" {
            if words[index - 1] == "SERVICE" { return true }
            let rest = words[(index + 1)...]
            if rest.isEmpty, hasScheme(value) { return true }
            if rest.count >= 2, rest.first.flatMap({ Int($0) }) != nil,
                ["TCP", "UDP", "SCTP"].contains(rest[rest.startIndex + 1])
            {
                return true
            }
        }
        return false
    }

    private static func hasScheme(_ value: String) -> Bool {
        ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) }
    }
}
