import Testing

@testable import Cluster

struct ProcessPartTests {
    @Test func `the part of a process is 31 bits of its instance, and never that of a single server`() {
        #expect(ProcessPart(instance: 0xFFFF_FFFF_8000_0007).value == 7)
        #expect(ProcessPart(instance: 0x8000_0000).value == 1)
    }

    @Test func `a process that hears its part of another draws another, and keeps it once it serves`() {
        let (first, second): (UInt64, UInt64) = (0x1_0000_0007, 0x2_0000_0007)
        var (left, right) = (ProcessPart(instance: first), ProcessPart(instance: second))
        left.heard(second)
        right.heard(first)
        #expect(left.value != 7 && right.value != 7 && left.value != right.value)
        #expect(left.value < 1 << 31 && right.value < 1 << 31)

        var serving = ProcessPart(instance: first)
        #expect(serving.use() == 7)
        serving.heard(second)
        #expect(serving.value == 7)
    }
}
