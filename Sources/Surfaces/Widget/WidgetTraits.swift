public import Kinds

/// The part of a device's situation that only widgets depend on (Protocols/Line/line-protocol.md §8). The first value of each is
/// the default.
public struct WidgetTraits: Hashable, Sendable {
    public enum Home: String, CaseIterable, Hashable, Sendable { case none, home, work, school, commute }
    public enum Fitness: String, CaseIterable, Hashable, Sendable { case none, workout, rings }
    public enum Sleep: String, CaseIterable, Hashable, Sendable { case none, bedtime, wakeup }

    /// `tint=`: the colour of accented widgets, or `clear`; `nil` for full colour.
    public var tint: String?
    /// `appearance=dark`.
    public var isDark = false
    /// `desktop=behind`: other windows are in front of the desktop.
    public var isDesktopBehind = false
    /// `distance=far`: a person looks from afar (visionOS).
    public var isFar = false
    /// `touch=no`: the car's screen takes no touch.
    public var hasTouch = true
    /// `screen=off`: nobody looks at the device.
    public var isScreenOff = false
    /// `place=`, `fitness=`, `sleep=`, `headphones=`: what makes a widget relevant.
    public var place = Home.none
    public var fitness = Fitness.none
    public var sleep = Sleep.none
    public var hasHeadphones = false
    /// `motion=reduced`.
    public var isMotionReduced = false

    public init() {}

    /// The names that ``set(_:to:)`` accepts.
    public static let names = [
        "tint", "appearance", "desktop", "distance", "touch", "screen", "place", "fitness", "sleep", "headphones",
        "motion",
    ]

    /// Sets one `name=value`.
    ///
    /// - Throws: ``TraitError``; nothing is then changed.
    mutating func set(_ name: String, to value: String) throws(TraitError) {
        switch name {
        case "tint":
            guard !value.isEmpty else { throw .unknownValue(name: name, values: "none, clear or a colour") }
            tint = value == "none" ? nil : value
        case "appearance": isDark = try Traits.choose(name, value, "light", "dark")
        case "desktop": isDesktopBehind = try Traits.choose(name, value, "front", "behind")
        case "distance": isFar = try Traits.choose(name, value, "near", "far")
        case "touch": hasTouch = try !Traits.choose(name, value, "yes", "no")
        case "screen": isScreenOff = try Traits.choose(name, value, "on", "off")
        case "place": place = try Self.word(name, value)
        case "fitness": fitness = try Self.word(name, value)
        case "sleep": sleep = try Self.word(name, value)
        case "headphones": hasHeadphones = try Traits.choose(name, value, "off", "on")
        case "motion": isMotionReduced = try Traits.choose(name, value, "full", "reduced")
        default: throw .unknownName(name)
        }
    }

    /// Whether a device is in the situation of a context.
    public func meets(_ situation: WidgetRelevance.Situation) -> Bool {
        switch situation.trait {
        case "place": place.rawValue == situation.value
        case "fitness": fitness.rawValue == situation.value
        case "sleep": sleep.rawValue == situation.value
        default: hasHeadphones
        }
    }

    private static func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ value: String
    ) throws(TraitError) -> Word where Word.RawValue == String {
        if let word = Word(rawValue: value) { return word }
        throw .unknownValue(name: name, values: Word.allCases.map(\.rawValue).joined(separator: ", "))
    }
}

/// The traits that rarely differ from the default.
final class RareTraits: Hashable, Sendable {
    struct Values: Hashable, Sendable {
        var foreground: String?
        var widgets = WidgetTraits()
        var showsPrivate = false
        /// `island=`; `nil` for the catalogue's word.
        var island: Bool?
    }

    let values: Values

    init(_ values: Values) {
        self.values = values
    }

    static func == (left: RareTraits, right: RareTraits) -> Bool { left.values == right.values }

    func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
