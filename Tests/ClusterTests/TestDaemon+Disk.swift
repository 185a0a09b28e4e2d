import Cluster
import Hub
import Journal
import Server
import TelltaleModel
import Testing

// The disk of a daemon, in memory.
extension TestDaemon {
    func recoveredHub() throws -> Hub? {
        guard journal?.mark != nil else { return nil }
        var hub = Hub(configuration: HubConfiguration(), epoch: journal?.epoch ?? 0)
        if let journal, journal.snapshot != nil {
            for chunk in journal.contents.snapshotChunks { try hub.load(chunk) }
            hub.finishLoading()
        }
        for record in journal?.contents.records ?? [] { try hub.replay(record) }
        return hub
    }

    private func serve(with next: consuming Server) { server = consume next }

    func performCheckpointSteps() {
        for _ in 0..<checkpointSteps { member?.checkpointStepTaken(at: cluster.time) }
        checkpointSteps = 0
        if isInstalling {
            isInstalling = false
            expectNoError {
                guard let hub = try recoveredHub() else { return }
                if let next = member?.checkpointInstalled(hub, at: cluster.time) {
                    closeAll(member?.farewell() ?? [])
                    serve(with: next)
                    loseLink()
                }
            }
        }
        performMember()
    }

    func expectNoError(_ body: () throws -> Void) {
        do { try body() } catch { Issue.record("\(name): \(error)") }
    }

    /// Its disk does not keep up, or does again.
    func fallBehind(_ isBehind: Bool) {
        member?.localJournalIsBehind(isBehind, at: cluster.time)
        performMember()
        cluster.settle()
    }
}
