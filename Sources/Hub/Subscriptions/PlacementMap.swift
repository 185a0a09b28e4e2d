internal import Surfaces

/// The placement that a subscriber holds of each key, by the key's index.
///
/// A few keys are stored in a dictionary. Many take a byte each, an index into a palette, because rows of one view have few
/// placements. A dictionary for 300,000 keys would need 6 MB.
struct PlacementMap {
    private var few: [Int32: Placement] = [:]
    /// By the index of a key; 0 = none, otherwise the index in the palette plus one.
    private var pages: [Int32: [UInt8]] = [:]
    private var palette: [Placement] = []
    private var numbers: [Placement: UInt8] = [:]
    /// Whether pages are used. They stay until the map is empty, so that the cost per key does not depend on the number of keys.
    private var isPaged = false
    private(set) var count = 0

    private static let fewLimit = 512
    private static let pageLength: Int32 = 1_024

    var isEmpty: Bool { count == 0 }

    /// Its approximate memory, in bytes.
    var byteCount: Int { 64 * few.count + (Int(Self.pageLength) + 64) * pages.count }

    subscript(raw: Int32) -> Placement? {
        get {
            if let placement = few[raw] { return placement }
            guard let page = pages[raw / Self.pageLength] else { return nil }
            let number = page[Int(raw % Self.pageLength)]
            return number == 0 ? nil : palette[Int(number) - 1]
        }
        set {
            let had = self[raw] != nil
            store(newValue, at: raw)
            count += (newValue != nil ? 1 : 0) - (had ? 1 : 0)
            if count == 0 { self = PlacementMap() }
            if !isPaged, few.count > Self.fewLimit { spread() }
        }
    }

    /// All placements, by key.
    var all: [Int32: Placement] {
        var all = few
        for (number, page) in pages {
            for (position, value) in page.enumerated() where value != 0 {
                all[number * Self.pageLength + Int32(position)] = palette[Int(value) - 1]
            }
        }
        return all
    }

    private mutating func store(_ placement: Placement?, at raw: Int32) {
        let (page, position) = (raw / Self.pageLength, Int(raw % Self.pageLength))
        few[raw] = nil
        if pages[page] != nil { pages[page]?[position] = 0 }
        guard let placement else { return }
        guard isPaged, let number = number(of: placement) else {
            few[raw] = placement
            return
        }
        set(number, at: raw)
    }

    private mutating func set(_ number: UInt8, at raw: Int32) {
        let page = raw / Self.pageLength
        pages[page, default: [UInt8](repeating: 0, count: Int(Self.pageLength))][Int(raw % Self.pageLength)] = number
    }

    /// Moves the dictionary into pages, as far as the palette has room.
    private mutating func spread() {
        isPaged = true
        let all = few
        few = [:]
        for (raw, placement) in all {
            if let number = number(of: placement) { set(number, at: raw) } else { few[raw] = placement }
        }
    }

    private mutating func number(of placement: Placement) -> UInt8? {
        if let number = numbers[placement] { return number }
        guard palette.count < 255 else { return nil }
        palette.append(placement)
        let number = UInt8(palette.count)
        numbers[placement] = number
        return number
    }
}
