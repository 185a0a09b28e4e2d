internal import FanOut
internal import Surfaces

/// The placement that a subscriber holds of each key, by the key's index.
///
/// Few keys stand in a dictionary. Many take a byte each: a place in a palette, because rows of one view have few
/// placements. A subscriber of 300,000 keys would need 6 MB of a dictionary.
struct PlacementMap {
    private var few: [Int32: Placement] = [:]
    /// By the index of a key; 0 = nothing, otherwise one more than the place in the palette.
    private var pages: [Int32: [UInt8]] = [:]
    private var palette: [Placement] = []
    private(set) var count = 0

    private static let fewLimit = 512
    private static let pageLength: Int32 = 1_024

    var isEmpty: Bool { count == 0 }

    /// About what it takes in memory, in bytes.
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
            if few.count > Self.fewLimit { spread() }
        }
    }

    /// All of it, by key.
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
        guard pages[page] != nil, let number = number(of: placement) else {
            few[raw] = placement
            return
        }
        pages[page]?[position] = number
    }

    /// Makes pages of what stands in the dictionary, as far as the palette has room.
    private mutating func spread() {
        var rest: [Int32: Placement] = [:]
        for (raw, placement) in few {
            guard let number = number(of: placement) else {
                rest[raw] = placement
                continue
            }
            let page = raw / Self.pageLength
            pages[page, default: [UInt8](repeating: 0, count: Int(Self.pageLength))][Int(raw % Self.pageLength)] =
                number
        }
        few = rest
    }

    private mutating func number(of placement: Placement) -> UInt8? {
        if let place = palette.firstIndex(of: placement) { return UInt8(place + 1) }
        guard palette.count < 255 else { return nil }
        palette.append(placement)
        return UInt8(palette.count)
    }
}
