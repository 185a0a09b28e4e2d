import Simulation
import TelltaleModel
import Testing

struct SimulatedProviderTests {
    private let lamp = Key(kind: "porch-light", id: "front")

    @Test
    func `it fails, is silent and stubborn as often as it was reported, within its time, and the same for a seed`()
        throws
    {
        let lamp = try #require(lamp)
        let temper = ProviderTemper(
            shortest: Milliseconds(10), longest: Milliseconds(20), failPercent: 20, silentPercent: 10,
            stubbornPercent: 5)
        var one = SimulatedProvider(temper: temper, values: [lamp: false], seed: 7)
        var other = one
        var counts = [0, 0, 0, 0]
        for _ in 0..<10_000 {
            let (delay, answer) = one.answer(to: lamp, value: true)
            let same = other.answer(to: lamp, value: true)
            #expect(same.delay == delay && same.answer == answer)
            #expect((10...20).contains(delay.count))
            switch answer {
            case .done(true): counts[0] += 1
            case .failed: counts[1] += 1
            case .silence: counts[2] += 1
            case .done: counts[3] += 1
            }
        }
        for (count, percent) in zip(counts, [65, 20, 10, 5]) { #expect(abs(count - percent * 100) < 200) }
    }

    @Test func `the device has the value of its last answer, or of the switch on the wall`() throws {
        let lamp = try #require(lamp)
        var thing = SimulatedProvider(values: [lamp: false], seed: 1)
        thing.finish(.done(value: true), on: lamp)
        #expect(thing.values == [lamp: true])
        thing.finish(.failed(code: "jammed", message: ""), on: lamp)
        #expect(thing.values == [lamp: true])
        let whim = thing.useSwitch()
        #expect(whim?.key == lamp && whim?.value == false)
        #expect(thing.values == [lamp: false])
        var nothing = SimulatedProvider(seed: 1)
        #expect(nothing.useSwitch() == nil)
    }
}
