import Testing

@testable import Hub

struct InternerTests {
    @Test func `a name keeps its number as long as it is referenced`() {
        var interner = Interner()
        let (first, second) = (interner.retain("a"), interner.retain("b"))
        #expect(interner.retain("a") == first)
        interner.release(first)
        #expect(interner.known("a") == first)
        interner.release(first)
        #expect(interner.known("a") == nil && interner.known("b") == second)
        #expect(interner.retain("c") == first)
        #expect(interner.count == 2)
    }
}
