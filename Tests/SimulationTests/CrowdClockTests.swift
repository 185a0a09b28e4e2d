import Testing

@testable import Simulation

/// The scenario's time against the clock of its owner.
struct CrowdClockTests {
    @Test func `the scenario's time runs at its speed, and a change of speed does not move it`() {
        var clock = CrowdClock(speed: 10)
        clock.observe(1_000_000)
        clock.restart()
        clock.observe(2_000_000)
        #expect(clock.time == 10_000)
        #expect(clock.instant(of: 20_000) == 3_000_000)
        clock.setSpeed(1)
        #expect(clock.time == 10_000)
        clock.observe(3_000_000)
        #expect(clock.time == 11_000)
    }

    @Test func `while it is paused the time moves by steps alone`() {
        var clock = CrowdClock(speed: 1)
        clock.restart()
        clock.observe(5_000)
        clock.pause(true)
        clock.observe(900_000)
        clock.rebase()
        clock.step(to: 40)
        #expect(clock.now == 40)
        clock.pause(false)
        clock.observe(910_000)
        #expect(clock.time == 50)
    }

    @Test func `neither the owner's clock nor the scenario's time goes back`() {
        var clock = CrowdClock(speed: 1)
        clock.observe(10)
        clock.observe(5)
        clock.reach(7)
        clock.reach(3)
        #expect(clock.instant == 10 && clock.now == 7)
    }
}
