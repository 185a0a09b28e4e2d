/// Characters in place of SF Symbols, which terminals and web pages cannot draw.
public enum Symbols {
    public static func glyph(_ name: String) -> String {
        // `cup.and.saucer.fill` and `cup.and.saucer` are the same here.
        let base = name.replacing(".fill", with: "").replacing(".circle", with: "")
        return table[base] ?? table[base.split(separator: ".").first.map(String.init) ?? ""] ?? "●"
    }

    /// Every glyph that is drawn for a symbol, each one character.
    static let glyphs = Set(table.values.joined() + "🔔●")

    private static let table: [String: String] = [
        "cup": "☕", "mug": "☕", "takeoutbag": "🥡", "fork": "🍴", "bag": "🛍", "cart": "🛒", "storefront": "🏪",
        "shippingbox": "📦", "box": "📦", "truck": "🚚", "bicycle": "🚲", "car": "🚗", "bus": "🚌", "tram": "🚋",
        "airplane": "✈", "airplane.departure": "🛫", "airplane.arrival": "🛬", "ferry": "⛴", "fuelpump": "⛽",
        "lightbulb": "💡", "lock": "🔒", "lock.open": "🔓", "door": "🚪", "house": "🏠", "power": "⏻", "bolt": "⚡",
        "washer": "🧺", "drop": "💧", "flame": "🔥", "thermometer": "🌡", "fan": "❉", "bell": "🔔", "timer": "⏲",
        "clock": "🕑", "hourglass": "⏳", "checkmark": "✓", "xmark": "✗", "exclamationmark": "⚠", "info": "ℹ",
        "questionmark": "?", "star": "★", "heart": "♥", "flag": "⚑", "mappin": "⌖", "location": "➤", "arrow": "→",
        "person": "☺", "phone": "☎", "gift": "🎁", "leaf": "❦", "pills": "💊", "sportscourt": "⚽", "trophy": "🏆",
        "chart": "📊", "cloud": "☁", "sun": "☀", "moon": "☾", "hand": "✋",
    ]
}
