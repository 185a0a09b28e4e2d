import TestSupport
import Testing

@testable import TelltaleKit

/// The end of a loop, a task or a reference is that of a connection.
@Suite(.endsOneDay)
struct LifeTests {
    private func server() -> ScriptedServer {
        ScriptedServer { stage in
            try await stage.show("SNAP sub=1 key=a/1 rev=1 {}", cursor: "0123456789abcdef:1:b0e4")
            await stage.waitForEnd()
        }
    }

    @Test func `a loop that is left ends its connection`() async throws {
        let server = server()
        let telltale = try Telltale.test(over: server)
        for try await change in telltale.follow("*") where change.isLive { break }
        // Returns when the client has hung up.
        try await server.finish()
        #expect(server.connectionCount == 1)
    }

    @Test func `a task that is cancelled ends its loop and its connection`() async throws {
        let server = server()
        let telltale = try Telltale.test(over: server)
        let following = telltale.follow("*")
        let isLive = Wakeup()
        let task = Task {
            var count = 0
            for try await change in following {
                count += 1
                if change.isLive { isLive.signal() }
            }
            return count
        }
        await isLive.wait()
        task.cancel()
        #expect(try await task.value == 3)
        try await server.finish()
        // Though its object is still there.
        #expect(following.cursor == "0123456789abcdef:1:b0e4")
        await #expect(throws: TelltaleError.closed) { try await following.ping() }
    }

    @Test func `a client without references leaves nothing behind`() async throws {
        let server = ScriptedServer { stage in
            try await stage.greet()
            stage.say("PONG id=\(try await stage.hear("PING"))")
            await stage.waitForEnd()
        }
        weak var link: Link?
        do {
            let telltale = try Telltale.test(over: server)
            try await telltale.ping()
            link = try telltale.openLink().link
            #expect(link != nil)
        }
        try await server.finish()
        try await waitUntil { link == nil }
    }

    @Test func `a follower that is closed ends behind the changes that came before`() async throws {
        let server = server()
        let following = try Telltale.test(over: server).follow("*")
        var iterator = following.makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        await following.close()
        #expect(try await iterator.next() == nil)
        try await server.finish()
    }

    @Test func `nothing is connected before the loop begins`() async throws {
        let server = server()
        let telltale = try Telltale.test(over: server)
        _ = telltale.follow("*")
        #expect(server.connectionCount == 0)
    }

    @Test(
        "A reader that does not take its changes stops the reading, and gets the newest rows", .behaviour("slow-reader")
    )
    func slowReader() async throws {
        let count = 1_500
        let server = ScriptedServer(pieceLength: 4_096) { stage in
            try await stage.show(cursor: "0123456789abcdef:1:b0e4")
            // Each key twice, then the next.
            for number in 0..<count {
                stage.say("UPD sub=1 key=a/\(number / 2) rev=\(number + 2) cur=0123456789abcdef:\(number + 2):b0e4 {}")
            }
            stage.say("OK id=\(try await stage.hear("TRAIT"))")
            await stage.waitForEnd()
        }
        let following = try Telltale.test(over: server).follow("*")
        var iterator = following.makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        let pipe = server.stages[0].toClient
        try await waitUntil { pipe.count > 0 }
        // A caller is answered all the same; whatever stands before its answer is read for it.
        try await following.report(traits: ["locked": "yes"])
        #expect(pipe.count == 0)
        var commits = 0
        var last: Int64 = 0
        while last < Int64(count) + 1, case .update(let update)? = try await iterator.next() {
            commits += 1 + update.skipped
            #expect(update.rev > last)
            last = update.rev
        }
        #expect(commits == count)
    }

    @Test func `while changes wait, no more than a few hundred are read`() async throws {
        let server = ScriptedServer(pieceLength: 1_024) { stage in
            try await stage.show(cursor: "0123456789abcdef:1:b0e4")
            // At once: what is not said yet would count as read.
            stage.say(bytes: (0..<5_000).map { "UPD sub=1 key=a/\($0) rev=\($0 + 2) {}\n" }.joined())
            await stage.waitForEnd()
        }
        let following = try Telltale.test(over: server).follow("*")
        var iterator = following.makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        let pipe = server.stages[0].toClient
        var taken = 0
        while taken < 800, case .update? = try await iterator.next() {
            taken += 1
            // 33 bytes a line, and a few less at the beginning.
            let read = 5_000 - pipe.count / 33
            if taken % 100 == 0, pipe.count > 0 {
                #expect(read <= taken + ChangeQueue.capacity + 2_300, "\(read) of \(taken)")
            }
        }
        #expect(taken == 800)
    }
}
