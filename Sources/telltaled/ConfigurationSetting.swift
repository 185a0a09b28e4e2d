import Kinds
import Machines
import Server
import Surfaces
import TelltaleEventLoop
import TelltaleModel

/// One setting of the daemon: its name as a flag, in the environment and in the configuration file, and what it takes.
struct ConfigurationSetting: Sendable {
    /// `clock-speed`: the flag is `--clock-speed`, the variable `TELLTALE_CLOCK_SPEED`, the file's key `clock-speed`.
    let name: String
    /// Whether it may be given several times; the file takes an array, the environment a comma-separated list.
    var isRepeatable = false
    /// Reads the values, and returns their faults.
    let apply: @Sendable (inout Configuration, [String]) -> [String]

    init(
        name: String, isRepeatable: Bool = false,
        applyAll: @escaping @Sendable (inout Configuration, [String]) -> [String]
    ) {
        (self.name, self.isRepeatable, apply) = (name, isRepeatable, applyAll)
    }

    /// - Parameter apply: Returns the fault of the values, or `nil`.
    init(
        name: String, isRepeatable: Bool = false,
        apply: @escaping @Sendable (inout Configuration, [String]) -> String?
    ) {
        self.init(name: name, isRepeatable: isRepeatable, applyAll: { apply(&$0, $1).map { [$0] } ?? [] })
    }

    /// Whether the option that a property declares has this name: `_eventIDAge` is `event-id-age`.
    func isRead(byProperty label: String) -> Bool {
        label.filter { $0 != "_" }.lowercased() == name.filter { $0 != "-" }
    }

    var variable: String {
        "TELLTALE_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }
}

extension ConfigurationSetting {
    static let all: [ConfigurationSetting] = own + cluster

    private static let own: [ConfigurationSetting] = [
        ConfigurationSetting(name: "data") {
            $0.data = $1[0]; return nil
        },
        ConfigurationSetting(name: "kinds") {
            $0.kinds = $1[0]; return nil
        },
        // Before the listeners, because their rules depend on it.
        ConfigurationSetting(name: "auth") {
            $0.auth = $1[0]; return nil
        },
        ConfigurationSetting(name: "listen", isRepeatable: true, applyAll: { $0.setListeners($1) }),
        ConfigurationSetting(name: "ops-listen") { configuration, values in
            guard let endpoint = Endpoint(values[0]), case .tcp = endpoint else {
                return "takes HOST:PORT such as 127.0.0.1:7884, not \"\(values[0])\""
            }
            guard endpoint.isLocal || configuration.auth != nil else {
                return
                    "may be an address of this machine alone (127.0.0.1, ::1, localhost) without --auth FILE, not \"\(values[0])\""
            }
            configuration.operatorListener = endpoint
            return nil
        },
        ConfigurationSetting(name: "socket") { configuration, values in
            guard (1...Endpoint.pathLengthLimit).contains(values[0].utf8.count) else {
                return
                    "takes a path of 1 to \(Endpoint.pathLengthLimit) bytes, which is what the system can bind, not one of \(values[0].utf8.count)"
            }
            configuration.socket = values[0]
            return nil
        },
        ConfigurationSetting(name: "socket-mode") { configuration, values in
            guard let mode = Configuration.socketModes[values[0]] else { return "takes 0600, 0660 or 0666" }
            configuration.socketMode = mode
            return nil
        },
        ConfigurationSetting(name: "tls-cert") {
            $0.tlsCertificate = $1[0]; return nil
        },
        ConfigurationSetting(name: "tls-key") {
            $0.tlsKey = $1[0]; return nil
        },
        ConfigurationSetting(name: "sync") { configuration, values in
            guard let mode = Configuration.Sync(rawValue: values[0]) else { return "takes full, normal or off" }
            configuration.sync = mode
            configuration.hasSync = true
            return nil
        },
        ConfigurationSetting(name: "pace") { configuration, values in
            if values[0] == "auto" {
                configuration.pace = .adaptive(upTo: .milliseconds(1))
                return nil
            }
            guard let pace = span(values[0], in: .zero ... .seconds(1), plain: .milliseconds) else {
                return "takes auto, or \(spans(.zero ... .seconds(1), plain: .milliseconds)), not \"\(values[0])\""
            }
            configuration.pace = .fixed(.milliseconds(pace.count))
            return nil
        },
        ConfigurationSetting(name: "clock-speed") { configuration, values in
            guard let speed = Double(values[0]), speed.isFinite, (0.001...1_000_000).contains(speed) else {
                return "takes a number from 0.001 to 1000000"
            }
            configuration.clockSpeed = speed
            return nil
        },
        ConfigurationSetting(name: "log-level") { configuration, values in
            guard let level = Log.Level(rawValue: values[0]) else {
                return "takes \(Log.Level.allCases.map(\.rawValue).joined(separator: ", "))"
            }
            configuration.logLevel = level
            return nil
        },
        ConfigurationSetting(name: "log-format") { configuration, values in
            guard let format = Log.Format(rawValue: values[0]) else { return "takes text or json" }
            configuration.logFormat = format
            return nil
        },
        choice("dev", ["yes", "no"]) { $0.isDeveloping = $1 == "yes" },
        number("max-line", 1_024...1_048_576, \.lineLength, "bytes"),
        number("max-subscriptions", 1...65_536, \.subscriptions, "subscriptions a connection"),
        span("heartbeat", Milliseconds(100) ... .hours(1), plain: .milliseconds) { $0.heartbeat = $1 },
        span("stuck-reader", .seconds(5) ... .hours(1), plain: .milliseconds) { $0.stuckReader = $1 },
        number("activities-per-app", 1...1_000_000, \.activitiesPerApp, "activities of one person"),
        number("activities-per-account", 1...1_000_000, \.activitiesPerAccount, "activities of one person"),
        span("event-id-age", .seconds(1) ... .days(3_650), plain: .seconds) { $0.eventIDAge = $1 },
        number("event-ids-per-source", 1...100_000_000, \.eventIDsPerSource, "ids"),
        span("retention", .seconds(1) ... .days(3_650), plain: .seconds) { $0.retention = $1 },
        span("widget-floor", .zero ... .days(1), plain: .seconds) { $0.widgetFloor = $1 },
        ConfigurationSetting(name: "rules") { configuration, values in
            let newest = DecisionRules.newest.number
            guard let rules = wholeNumber(values[0], in: 1...Int(newest)).flatMap({ DecisionRules(number: Int64($0)) })
            else { return "takes a whole number from 1 to \(newest), the newest rules of this release" }
            configuration.rules = rules
            return nil
        },
        choice("accept-old-end", ["yes", "no"]) { $0.acceptsOldEnd = $1 == "yes" },
        choice("order", ["relevance", "alert"]) { $0.surfaces.order = .init(rawValue: $1) ?? .relevance },
        choice("lock-screen-order", ["relevance", "alert"]) {
            $0.surfaces.lockScreenOrder = .init(rawValue: $1) ?? .alert
        },
        choice("island-order", ["relevance", "alert"]) { $0.surfaces.islandOrder = .init(rawValue: $1) ?? .alert },
        choice("carplay-fallback", ["compact", "lockScreen"]) {
            $0.surfaces.carPlayFallback = .init(rawValue: $1) ?? .compact
        },
        choice("desktop-selection", ["lockScreen", "expanded"]) {
            $0.surfaces.desktopSelection = .init(rawValue: $1) ?? .lockScreen
        },
        choice("desktop-panel", ["yes", "no"]) { $0.surfaces.opensDesktopPanel = $1 == "yes" },
        choice("standby-alert", ["yes", "no"]) { $0.surfaces.fillsStandBy = $1 == "yes" },
        choice("standby-ended", ["yes", "no"]) { $0.surfaces.keepsEndedInStandBy = $1 == "yes" },
        choice("hide-stale-start", ["yes", "no"]) { $0.surfaces.hidesStaleFromStart = $1 == "yes" },
        ConfigurationSetting(name: "widget-budget") { configuration, values in
            if values[0] == "off" {
                configuration.widgetBudget = nil
                return nil
            }
            guard let rows = wholeNumber(values[0], in: 1...86_400) else {
                return "takes off, or a whole number from 1 to 86400 (rows a day)"
            }
            configuration.widgetBudget = rows
            return nil
        },
        number("widget-burst", 1...1_000, \.widgetBurst, "rows"),
        span("stack-hold", .zero ... .days(1), plain: .seconds) { $0.stackHold = $1 },
        choice("always-on-private", ["hide", "show"]) { $0.surfaces.hidesPrivateAlwaysOn = $1 == "hide" },
        ConfigurationSetting(name: "relevance-on") { configuration, values in
            var places: Set<WidgetPlace> = []
            if values[0] != "none" {
                for word in values[0].split(separator: ",", omittingEmptySubsequences: false) {
                    // A gallery shows only samples.
                    guard let place = WidgetPlace(rawValue: String(word)), place != .gallery else {
                        let names = WidgetPlace.allCases.filter { $0 != .gallery }.map(\.rawValue)
                        return "takes none, or a comma-separated list of \(names.joined(separator: ", "))"
                    }
                    places.insert(place)
                }
            }
            configuration.surfaces.relevancePlaces = places
            return nil
        },
    ]

    private static func wholeNumber(_ text: String, in range: ClosedRange<Int>) -> Int? {
        guard let number = Int(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else { return nil }
        return number
    }

    private static func number(
        _ name: String, _ range: ClosedRange<Int>, _ member: any WritableKeyPath<Configuration, Int> & Sendable,
        _ unit: String
    ) -> ConfigurationSetting {
        ConfigurationSetting(name: name) { configuration, values in
            guard let number = wholeNumber(values[0], in: range) else {
                return "takes a whole number from \(range.lowerBound) to \(range.upperBound) (\(unit))"
            }
            configuration[keyPath: member] = number
            return nil
        }
    }

    /// The unit of a span given as a plain number, the only form in the first releases.
    enum PlainUnit: String {
        case milliseconds, seconds

        var length: Int64 { self == .seconds ? 1_000 : 1 }
    }

    /// A span of time, written as in kind files: `3s`, `500ms`, `7d`, `1m30s`.
    ///
    /// - Parameter unit: The unit of a plain number; `nil` if a span has to name its unit.
    static func span(
        _ name: String, _ range: ClosedRange<Milliseconds>, plain unit: PlainUnit?,
        apply: @escaping @Sendable (inout Configuration, Milliseconds) -> Void
    ) -> ConfigurationSetting {
        ConfigurationSetting(name: name) { configuration, values in
            guard let span = span(values[0], in: range, plain: unit) else {
                return "takes \(spans(range, plain: unit)), not \"\(values[0])\""
            }
            apply(&configuration, span)
            return nil
        }
    }

    private static func span(
        _ text: String, in range: ClosedRange<Milliseconds>, plain unit: PlainUnit?
    ) -> Milliseconds? {
        let longest = range.upperBound.count
        let plain = unit.flatMap { unit in
            wholeNumber(text, in: 0...Int(longest / unit.length)).map { Milliseconds(Int64($0) * unit.length) }
        }
        guard let span = plain ?? Milliseconds(duration: text), range.contains(span) else { return nil }
        return span
    }

    /// Describes the allowed spans, for a message.
    private static func spans(_ range: ClosedRange<Milliseconds>, plain unit: PlainUnit?) -> String {
        let plain = unit.map { ", or a plain number of \($0.rawValue)" } ?? ""
        return "a span such as 1500ms, 3s or 7d, from \(text(range.lowerBound)) to \(text(range.upperBound))\(plain)"
    }

    private static func text(_ span: Milliseconds) -> String {
        for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] as [(Int64, String)]
        where span.count >= unit && span.count % unit == 0 {
            return "\(span.count / unit)\(name)"
        }
        return "\(span.count)ms"
    }

    private static func choice(
        _ name: String, _ values: [String], _ apply: @escaping @Sendable (inout Configuration, String) -> Void
    ) -> ConfigurationSetting {
        ConfigurationSetting(name: name) { configuration, given in
            guard values.contains(given[0]) else { return "takes \(values.joined(separator: " or "))" }
            apply(&configuration, given[0])
            return nil
        }
    }
}
