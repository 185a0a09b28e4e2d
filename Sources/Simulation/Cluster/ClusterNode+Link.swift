import Hub
import Server
import TelltaleWire

// The link of a node to its leader, and those of other nodes to it, as the edge of `telltaled` keeps them.
extension ClusterNode {
    /// A connection that ended is tried again after so long.
    private static let pause: Int64 = 250

    /// Connects to the node that leads.
    func followLeader() {
        let address = isLeading ? nil : leaderAddress
        if let pipe, pipe.leader.address != address { losePipe() }
        guard pipe == nil, cluster.now >= nextPipe, let address,
            let leader = cluster.nodes.first(where: { $0.address == address && $0 !== self })
        else { return }
        nextPipe = cluster.now + Self.pause
        guard leader.isUp, !leader.isStopped else { return }
        let pipe = LeaderPipe(of: self, to: leader)
        self.pipe = pipe
        pipe.send(to: pipe.leader, after: cluster.pipeDelay()) { leader.accept(pipe) }
    }

    private func accept(_ pipe: LeaderPipe) {
        guard pipe.isOpen else { return }
        pipe.session = server?.connected(at: hubTime)
        guard let session = pipe.session else { return }
        followers[session] = pipe
        pipe.send(to: pipe.follower, after: cluster.pipeDelay()) {
            guard pipe.isOpen else { return }
            pipe.follower.server?.linkConnected(at: pipe.follower.hubTime)
            pipe.follower.perform()
        }
        perform()
    }

    /// This node ends its connection to the leader.
    func losePipe() {
        guard let pipe = pipe.take() else { return }
        let wasOpen = pipe.isOpen
        pipe.isOpen = false
        tampering.losesPipe(of: self)
        server?.linkLost(at: hubTime)
        guard wasOpen else { return }
        pipe.send(to: pipe.leader, after: cluster.pipeDelay()) { pipe.leader.forget(pipe) }
    }

    private func forget(_ pipe: LeaderPipe) {
        guard let session = pipe.session.take() else { return }
        followers[session] = nil
        if cluster.bug != .providerOutlivesNode { server?.disconnected(session) }
        perform()
    }

    /// As the leader, this node ends the connection of another one.
    func close(_ pipe: LeaderPipe) {
        guard let session = pipe.session.take() else { return }
        followers[session] = nil
        server?.disconnected(session)
        pipe.send(to: pipe.follower, after: cluster.pipeDelay()) { pipe.follower.lost(pipe) }
    }

    private func lost(_ lost: LeaderPipe) {
        lost.isOpen = false
        guard lost === pipe else { return }
        losePipe()
        perform()
    }

    /// The process of this node is gone: so are its connections.
    func endPipes() {
        for pipe in followers.values.sorted(by: { $0.follower.index < $1.follower.index }) { close(pipe) }
        followers = [:]
        losePipe()
    }

    func writeToLeader(_ bytes: [UInt8]) {
        guard let pipe, pipe.isOpen else { return }
        let bytes = tampering.toLeader(bytes)
        pipe.send(to: pipe.leader, after: cluster.pipeDelay()) {
            guard pipe.isOpen, let session = pipe.session else { return }
            _ = pipe.leader.server?.received(bytes.span, from: session, at: pipe.leader.hubTime)
            pipe.leader.perform()
        }
    }

    /// As the leader, this node writes to another one.
    func write(_ bytes: [UInt8], to pipe: LeaderPipe) {
        pipe.send(to: pipe.follower, after: cluster.pipeDelay()) {
            guard pipe.isOpen, pipe === pipe.follower.pipe else { return }
            let bytes = pipe.follower.tampering.fromLeader(bytes)
            pipe.follower.server?.linkReceived(bytes.span, at: pipe.follower.hubTime)
            pipe.follower.perform()
        }
    }
}
