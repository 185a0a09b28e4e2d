import Testing

@testable import Simulation

/// Which records requests that reload all widgets may leave, of each key.
struct ReferenceReloadsTests {
    private static let keys = ["weather/Lima", "weather/Oslo"]

    /// The fault of requests that began and ended, and of the records of two keys; `nil` as an end = it was broken off.
    private func fault(_ scans: [(Int64, Int64?)], lima: [Int64], oslo: [Int64]) -> String? {
        var reloads = ReferenceReloads()
        for (begun, ended) in scans {
            let number = reloads.begin(at: begun)
            if let ended { reloads.end(number, at: ended) }
        }
        for record in lima { reloads.note(Self.keys[0], at: record) }
        for record in oslo { reloads.note(Self.keys[1], at: record) }
        return reloads.fault(of: Self.keys)
    }

    @Test func `each request has reloaded each key once, also where two go on at a time`() {
        #expect(fault([(1, 9)], lima: [3], oslo: [9]) == nil)
        #expect(fault([(1, 9), (2, 5)], lima: [3, 4], oslo: [5, 7]) == nil)
    }

    @Test func `a key that was left out, or reloaded before or behind a request, is a fault`() {
        #expect(fault([(1, 9)], lima: [3], oslo: [])?.contains("weather/Oslo was left out") == true)
        #expect(fault([(1, 9)], lima: [1], oslo: [4])?.contains("weather/Lima was left out") == true)
        #expect(fault([(1, 9), (2, 5)], lima: [3, 4], oslo: [7, 8])?.contains("weather/Oslo was left out") == true)
    }

    @Test func `one record too many is a fault, and one that was broken off may have left one`() {
        #expect(fault([(1, 9)], lima: [3, 4], oslo: [4])?.contains("weather/Lima was reloaded once too often") == true)
        #expect(fault([(1, 9), (2, nil)], lima: [3, 4], oslo: [4]) == nil)
        #expect(fault([(1, 9), (20, nil)], lima: [3, 4], oslo: [4]) != nil)
    }
}
