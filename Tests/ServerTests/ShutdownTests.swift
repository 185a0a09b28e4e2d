import TelltaleModel
import Testing

@testable import Server

/// The stop machine by itself: one row a moment.
struct ShutdownTests {
    private static func seconds(_ count: Int64) -> MonotonicTime { MonotonicTime(milliseconds: 1_000 * count) }

    /// One call of ``Shutdown/goOn(at:hasWork:hasConnections:isCommitting:)``, and what it asks for.
    struct Row: CustomTestStringConvertible {
        var second: Int64
        var hasWork = false
        var hasConnections = true
        var isCommitting = false
        var step: Shutdown.Step?

        var testDescription: String { "second \(second)" }
    }

    private func run(_ rows: [Row]) -> Shutdown {
        var shutdown = Shutdown(limits: ShutdownLimits())
        shutdown.request(at: Self.seconds(0))
        for row in rows {
            let step = shutdown.goOn(
                at: Self.seconds(row.second), hasWork: row.hasWork, hasConnections: row.hasConnections,
                isCommitting: row.isCommitting)
            #expect(step == row.step, "\(row)")
        }
        return shutdown
    }

    @Test func `a calm server says BYE at once, and writes its snapshot when the last reader has gone`() {
        let shutdown = run([
            Row(second: 0, step: .sayBye), Row(second: 1), Row(second: 2, hasConnections: false, step: .writeSnapshot),
            Row(second: 3, hasConnections: false),
        ])
        #expect(shutdown.phase == .writingSnapshot && !shutdown.mayDecide(at: Self.seconds(3)))
    }

    @Test func `producers that never pause are read for a second and answered for three`() {
        _ = run([
            Row(second: 0, hasWork: true), Row(second: 1, hasWork: true, step: .pauseReading),
            Row(second: 2, hasWork: true), Row(second: 3, hasWork: true, step: .sayBye),
        ])
    }

    @Test func `a batch that is committing is waited for, however long the disk takes`() {
        _ = run([
            Row(second: 0, isCommitting: true), Row(second: 1, isCommitting: true, step: .pauseReading),
            Row(second: 30, isCommitting: true), Row(second: 31, step: .sayBye),
            Row(second: 32, hasConnections: false, isCommitting: true),
            Row(second: 33, hasConnections: false, step: .writeSnapshot),
        ])
    }

    @Test func `readers that take nothing are closed after four seconds, once`() {
        _ = run([
            Row(second: 0, step: .sayBye), Row(second: 3), Row(second: 4, step: .closeConnections), Row(second: 5),
            Row(second: 6, hasConnections: false, step: .writeSnapshot),
        ])
    }

    @Test func `it asks to be woken for every moment at which it goes on by itself`() {
        var shutdown = Shutdown(limits: ShutdownLimits())
        #expect(shutdown.nextMoment == nil)
        shutdown.request(at: Self.seconds(0))
        #expect(shutdown.nextMoment == Self.seconds(1))
        _ = shutdown.goOn(at: Self.seconds(1), hasWork: true, hasConnections: true, isCommitting: false)
        #expect(shutdown.nextMoment == Self.seconds(3))
        _ = shutdown.goOn(at: Self.seconds(3), hasWork: true, hasConnections: true, isCommitting: false)
        #expect(shutdown.nextMoment == Self.seconds(7))
        _ = shutdown.goOn(at: Self.seconds(7), hasWork: true, hasConnections: true, isCommitting: false)
        #expect(shutdown.nextMoment == nil)
    }

    @Test func `a second request changes nothing`() {
        var shutdown = Shutdown(limits: ShutdownLimits())
        shutdown.request(at: Self.seconds(0))
        shutdown.request(at: Self.seconds(2))
        #expect(shutdown.phase == .answering(since: Self.seconds(0)))
    }
}
