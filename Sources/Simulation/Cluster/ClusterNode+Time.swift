import Cluster
import Hub
import Server
import TelltaleModel

// The timers of a node.
extension ClusterNode {
    func scheduleMember() {
        guard !isStopped, let deadline = member?.deadline, deadline < .distantFuture else { return }
        // The one that waits comes early enough, and looks again.
        guard deadline < memberWake.deadline else { return }
        memberWake = (deadline, memberWake.version + 1)
        let version = memberWake.version
        schedule(after: max(1, deadline.milliseconds(since: monotonic).count)) { [self] in
            guard version == memberWake.version else { return }
            memberWake.deadline = .distantFuture
            member?.tick(at: hubTime)
            perform()
        }
    }

    func schedule(_ wake: Wake, at now: HubTime) {
        wakeVersion += 1
        guard let time = [wake.at, wake.flush].compactMap(\.self).min() else { return }
        let version = wakeVersion
        let wait = Int64(min((time - now.monotonic) / .milliseconds(1), 60_000).rounded(.up))
        schedule(after: max(1, wait)) { [self] in
            guard version == wakeVersion else { return }
            // A clock that counts sleep: the member looks before anything is done.
            member?.tick(at: hubTime)
            perform()
        }
    }

    /// The node is asked to let another one lead.
    func handOver() {
        guard isLeading, !isPaused else { return }
        member?.handOver(at: hubTime)
        perform()
    }
}
