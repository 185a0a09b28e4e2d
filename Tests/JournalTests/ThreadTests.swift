import Glibc
import Journal
import TestSupport
import Testing

@Suite(.endsOneDay)
struct ThreadTests {
    /// Of the calling thread; the higher, the more it gives way.
    private static var niceness: Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }

    @Test(
        "a thread in the background gives way, and changes nobody else",
        arguments: [(false, Int32(0)), (true, 10)])
    func niceness(isBackground: Bool, more: Int32) async {
        let own = Self.niceness
        let (threads, thread) = AsyncStream.makeStream(of: Int32.self)
        startThread(isBackground: isBackground) { thread.yield(Self.niceness) }
        var found: Int32?
        for await niceness in threads {
            found = niceness
            break
        }
        #expect(found == min(own + more, 19))
        #expect(Self.niceness == own)
    }
}
