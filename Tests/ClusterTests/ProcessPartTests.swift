import Testing

@testable import Cluster

struct ProcessPartTests {
    @Test func `each server of a process has another part, and none is 0`() {
        for instance in [0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, UInt64.max] {
            var part = ProcessPart(instance: instance)
            let parts = (0..<20).map { _ in part.next() }
            #expect(parts.allSatisfy { (1...0x7FFF_FFFF).contains($0) })
            if instance > 2 { #expect(Set(parts).count == 20, "\(instance): \(parts)") }
        }
        var (first, second) = (ProcessPart(instance: 7), ProcessPart(instance: 8))
        #expect(first.next() == 7 && second.next() == 8)
    }
}
