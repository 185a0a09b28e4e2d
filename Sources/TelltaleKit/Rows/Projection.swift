internal import TelltaleModel

/// The view that a follower asks for. It decides the type of the rows: `.carplay` gives ``CarPlayRow``.
public struct Projection<Activity: ActivityRow>: Hashable, Sendable {
    let name: ViewName
}

extension Projection where Activity == CarPlayRow {
    public static var carplay: Projection { Projection(name: .surface(.carplay)) }
}

extension Projection where Activity == WatchRow {
    public static var watch: Projection { Projection(name: .surface(.watch)) }
}

extension Projection where Activity == DesktopRow {
    /// The menu bar of a Mac.
    public static var desktop: Projection { Projection(name: .surface(.desktop)) }
}

extension Projection where Activity == StandByRow {
    public static var standby: Projection { Projection(name: .surface(.standby)) }
}

extension Projection where Activity == PhoneRow {
    public static var phone: Projection { Projection(name: .surface(.phone)) }
    public static var pad: Projection { Projection(name: .surface(.pad)) }
}

extension Projection where Activity == FullRow {
    /// The whole state.
    public static var full: Projection { Projection(name: .full) }
}
