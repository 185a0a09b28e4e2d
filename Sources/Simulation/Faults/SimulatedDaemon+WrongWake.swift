import Hub
import Server
import TelltaleModel

extension SimulatedDaemon {
    /// When the daemon wakes with a seeded bug of its timers; `nil` = as it should.
    func wrongWake(_ wake: Wake, at now: HubTime) -> MonotonicTime? {
        if world.bug == .paceForgotten { return wake.flush.map { $0 + Milliseconds(200) } }
        // With work to do it wakes at once, whatever its timers do.
        guard wake.flush == nil, let time = wake.at, time > now.monotonic else { return nil }
        var kinds = server?.nextDeadline.map { now.monotonic + Milliseconds(max(0, ($0 - now.time).count)) }
        var wall = server?.nextWallDeadline.map { now.monotonic + max(.zero, $0 - now.wall) }
        switch world.bug {
        case .timersLate: kinds = kinds.map { $0 + Milliseconds.seconds(20) }
        case .timersLostAtRestart where generation > 1: kinds = nil
        case .controlTimersForgotten: wall = nil
        default: return nil
        }
        return [kinds, wall, server?.nextSessionDeadline].compactMap(\.self).min() ?? now.monotonic + .seconds(60)
    }
}
