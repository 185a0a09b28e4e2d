import Foundation
import Hub
import Journal
import Kinds
import Machines
import Replication
import Server
import TelltaleModel
import Testing

/// Several daemons over one log.
struct MemberTests {
    @Test func `one of three leads, and the others say so`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        #expect(cluster.leaders.count == 1)
        let leader = try #require(cluster.leaders.first)
        #expect(leader.connect().take().first?.hasSuffix(" node=\(leader.name) role=leader term=1") == true)
        for standby in cluster.daemons where standby !== leader {
            let client = standby.connect()
            let greeting = client.take().first ?? ""
            #expect(greeting.hasSuffix(" node=\(standby.name) role=standby leader=\(leader.address) serves=1"))
            #expect(standby.post("tea/\(standby.name)", from: client).hasPrefix("OK verdict=applied"))
            #expect(standby.reported.contains("\(leader.name) leads in term 1"))
        }
    }

    @Test func `of many names that there were, a node that joins knows those that it hears`() throws {
        let cluster = try TestCluster(2)
        let gone = cluster.log.node()
        for number in 1...40 {
            gone.heartbeat(
                Heartbeat(
                    node: "a\(number)", role: .standby, term: 0, position: 0, address: "10.0.1.\(number):7878",
                    release: "1",
                    number: 1, instance: 7))
        }
        cluster.pass(.seconds(10))
        let late = try cluster.join("n3")
        cluster.pass(.seconds(5))
        let names = late.status?.peers.map(\.node) ?? []
        #expect(names.count == 16 && Set(names).isSuperset(of: ["n1", "n2"]), "\(names)")
        let leader = try #require(cluster.leaders.first)
        #expect(late.connect().take().first?.hasSuffix("role=standby leader=\(leader.address) serves=1") == true)
    }

    @Test func `a standby replays what the leader decides, and keeps it with the place of the log`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let client = leader.connect()
        for number in 1...20 {
            #expect(leader.post("tea/\(number)", from: client).hasPrefix("OK verdict=applied"))
        }
        cluster.pass(.seconds(2))
        let statuses = cluster.daemons.compactMap(\.status)
        #expect(Set(statuses.map(\.position)).count == 1)
        #expect(statuses.allSatisfy { $0.lag == 0 && $0.peers.count == 2 })
        for daemon in cluster.daemons {
            daemon.kill()
            let mark = try LogReader(mark: try #require(daemon.contents.mark))
            #expect(mark.chain.sequence == daemon.contents.lastSequence && mark.epoch == daemon.contents.epoch)
            #expect(daemon.contents.records == cluster.daemons[0].contents.records)
        }
    }

    @Test func `behind a killed leader another one answers, and knows what was acknowledged`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let client = first.connect()
        first.send("EVT tea/1 type=start src=shop eid=1", from: client)
        first.kill()
        #expect(client.isClosed)
        cluster.pass(.seconds(6))
        let second = try #require(cluster.leaders.first)
        #expect(second !== first && second.reported.contains("leading term=2"))
        let other = second.connect()
        #expect(other.take().first?.contains(" epoch=000000000000e0c1 ") == true)
        #expect(second.post("tea/1", "src=shop eid=1", from: other).contains("verdict=duplicate"))
        #expect(second.send("HISTORY tea/1", from: other).last == "OK count=1")
        // It comes back as a standby, and goes on where its copy ends.
        try first.start()
        cluster.pass(.seconds(3))
        #expect(cluster.leaders.count == 1 && first.position == second.position)
    }

    @Test func `a standby that sees the leader's machine refuse connections does not wait for the lease`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let second = try #require(cluster.daemons.first { $0 !== first })
        first.kill()
        second.refuseConnectionsOfLeader()
        cluster.pass(Milliseconds(500))
        #expect(second.isLeading)
    }

    @Test func `a leader that reads its batch and its deposal at once answers, because the log has the batch`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let client = first.connect()
        first.send("SUB *", from: client)
        first.node?.isDeaf = true
        #expect(first.send("EVT tea/1 type=start", from: client) == [])
        cluster.pass(.seconds(8))
        let second = try #require(cluster.leaders.first { $0 !== first })
        #expect(first.isLeading, "it is in limbo")
        first.node?.isDeaf = false
        cluster.pass(.seconds(3))
        let lines = client.take()
        #expect(lines.first { !$0.hasPrefix("MARK ") }?.hasPrefix("OK verdict=applied") == true, "\(lines)")
        #expect(lines.count { $0.hasPrefix("UPD ") } == 1 && !client.isClosed, "\(lines)")
        #expect(!first.isLeading && first.position == second.position)
        // The log has the batch, so the next leader knows it.
        #expect(second.send("EVT tea/1 type=start", from: second.connect()).last?.contains("verdict=ignored") == true)
    }

    @Test
    func `a standby that is cut off says how old its rows are, keeps its screens, and says when it has caught up`()
        throws
    {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let standby = try #require(cluster.daemons.first { $0 !== leader })
        let screen = standby.connect()
        _ = standby.send("SUB *", from: screen)
        cluster.pass(.seconds(10))
        #expect(standby.status?.staleSince == nil)
        #expect(screen.take().allSatisfy { !$0.contains("stale=") })
        standby.node?.isCutOff = true
        cluster.pass(.seconds(60))
        let marks = screen.take()
        #expect(!screen.isClosed && marks.contains { $0.hasPrefix("MARK ") && $0.contains(" stale=") }, "\(marks)")
        standby.node?.isCutOff = false
        cluster.pass(.seconds(3))
        let last = screen.take().last { $0.hasPrefix("MARK ") }
        #expect(standby.status?.staleSince == nil && last?.contains(" stale=") == false, "\(last ?? "")")
    }

    @Test func `the n-th connections of two nodes have different numbers, before and after one leads`() throws {
        let cluster = try TestCluster(3)
        let before = cluster.daemons.compactMap { $0.server?.connected(at: cluster.time).number }
        cluster.pass(.seconds(10))
        let after = cluster.daemons.compactMap { $0.server?.connected(at: cluster.time).number }
        #expect(Set(before + after).count == 6 && (before + after).allSatisfy { $0 >> 32 > 0 }, "\(before), \(after)")
    }

    @Test func `a screen at a standby is served there, and stays when another node leads, this one too`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let screens = cluster.daemons.filter { $0 !== first }.map { ($0, $0.connect()) }
        for (standby, screen) in screens {
            #expect(standby.send("SUB *", from: screen).first?.hasPrefix("TELLTALE") == true)
        }
        _ = first.post("tea/1", from: first.connect())
        for (standby, screen) in screens {
            #expect(standby.send("PING", from: screen).contains { $0.hasPrefix("UPD") && $0.contains("key=tea/1") })
        }
        first.kill()
        cluster.pass(.seconds(6))
        let second = try #require(cluster.leaders.first)
        #expect(second.post("tea/2", from: second.connect()).hasPrefix("OK verdict=applied"))
        for (node, screen) in screens {
            #expect(!screen.isClosed)
            #expect(node.send("PING", from: screen).contains { $0.hasPrefix("UPD") && $0.contains("key=tea/2") })
        }
        #expect(Set(cluster.daemons.filter(\.isUp).map(\.stateHash)).count == 1)
    }

    @Test func `a cut-off leader shows nothing, ends who waits for a reply, and is a standby when it is back`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let client = first.connect()
        first.send("SUB *", from: client)
        first.node?.isCutOff = true
        #expect(first.send("EVT tea/1 type=start", from: client) == [])
        cluster.pass(.seconds(8))
        #expect(first.send("PING", from: client) == [], "it is in limbo")
        #expect(cluster.leaders.count == 2, "and another one leads")
        cluster.pass(.seconds(6))
        #expect(client.isClosed && client.take() == [])
        #expect(!first.isLeading)
        let second = try #require(cluster.leaders.first)
        let other = second.connect()
        // The batch that the old one had decided and not stored went with its hub.
        #expect(second.send("EVT tea/1 type=start", from: other).last?.contains("verdict=applied") == true)
        first.node?.isCutOff = false
        cluster.pass(.seconds(4))
        #expect(first.position == second.position && !first.isLeading)
        #expect(first.connect().take().first?.hasSuffix("role=standby leader=\(second.address) serves=1") == true)
    }

    @Test func `a leader that was stopped finds out before it says anything`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let client = first.connect()
        first.send("SUB *", from: client)
        _ = client.take()
        first.isPaused = true
        cluster.pass(.seconds(10))
        let second = try #require(cluster.leaders.first { $0 !== first })
        second.send("EVT tea/9 type=start", from: second.connect())
        first.isPaused = false
        cluster.settle()
        #expect(!client.isClosed && cluster.leaders.count == 1)
        cluster.pass(.seconds(2))
        #expect(client.take().contains { $0.hasPrefix("UPD ") && $0.contains("key=tea/9") })
        #expect(first.position == second.position)
    }

    @Test func `a leader hands over in order`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let client = first.connect()
        first.send("EVT tea/1 type=start", from: client)
        first.handOver()
        cluster.settle()
        #expect(first.hasHandedOver && !client.isClosed)
        cluster.pass(Milliseconds(500))
        let second = try #require(cluster.leaders.first)
        #expect(second !== first && second.reported.contains("leading term=2"))
    }

    @Test func `a standby that ends does not lead when the leader hands over, and can write its snapshot`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        leader.send("EVT tea/1 type=start", from: leader.connect())
        cluster.pass(.seconds(2))
        // The next leader, where it does not end: of those that have read as much, it has the first name.
        let standbys = cluster.daemons.filter { $0 !== leader }
        let ending = standbys[0]
        #expect(!ending.end())
        leader.handOver()
        cluster.pass(.seconds(6))
        #expect(cluster.leaders.map(\.name) == [standbys[1].name])
        #expect(!ending.reported.contains { $0.hasPrefix("leading") } && ending.hasSnapshot)
    }

    @Test func `a leader that ends hands over, and waits 3 s for the log`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let client = leader.connect()
        leader.node?.isCutOff = true
        #expect(leader.end() && leader.end(), "it waits for the log")
        cluster.pass(Milliseconds(2_900))
        #expect(leader.isLeading && !leader.reported.contains("abandons"))
        cluster.pass(Milliseconds(200))
        #expect(leader.reported.suffix(2) == ["abandons", "standby: it ends"])
        #expect(!client.isClosed, "its server ends it in order")
        // It never leads again, whatever the log says.
        leader.node?.isCutOff = false
        for daemon in cluster.daemons where daemon !== leader { daemon.kill() }
        cluster.pass(.seconds(10))
        #expect(cluster.leaders.isEmpty && leader.stopReason == nil)
    }

    @Test func `a deadline is fired by the leader alone, and by the next one where it died`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        first.send("EVT tea/1 type=start", from: first.connect())
        cluster.pass(.seconds(30))
        first.kill()
        cluster.pass(.seconds(40))
        let second = try #require(cluster.leaders.first)
        let client = second.connect()
        #expect(second.send("GET tea/1", from: client).last?.contains(#""state":"cold""#) == true)
    }

    @Test func `a node with an empty folder reads the log, and one whose copy is behind goes on`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let client = leader.connect()
        let late = try #require(cluster.daemons.first { $0 !== leader })
        leader.send("EVT tea/1 type=start", from: client)
        late.kill()
        leader.send("EVT tea/2 type=start", from: client)
        try late.start()
        cluster.pass(.seconds(2))
        #expect(late.position == leader.position && late.stopReason == nil)
        late.kill()
        #expect(late.contents.lastSequence == late.contents.records.last?.sequence)
    }

    @Test func `a log that was set back stops a node, with its place`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        leader.send("EVT tea/1 type=start", from: leader.connect())
        cluster.pass(.seconds(2))
        let other = try TestCluster(1)
        let stranger = try #require(other.daemons.first)
        // The same folder over another log.
        for daemon in cluster.daemons { daemon.kill() }
        stranger.kill()
        stranger.adopt(cluster.daemons[0].contents)
        try stranger.start()
        other.pass(.seconds(60))
        #expect(!stranger.isLeading)
        #expect(stranger.stopReason?.contains("message") == true || stranger.stopReason?.contains("lost") == true)
    }

    @Test func `a stranger's message is void, reported, and service goes on`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        cluster.log.store(Array("hello".utf8))
        cluster.pass(.seconds(1))
        let leader = try #require(cluster.leaders.first)
        let client = leader.connect()
        #expect(leader.send("EVT tea/1 type=start", from: client).isEmpty == false || true)
        cluster.pass(.seconds(2))
        #expect(leader.send("PING", from: client).last == "PONG")
        #expect(
            cluster.daemons.allSatisfy {
                $0.reported.contains { $0.hasPrefix("warning: the log has something that means nothing: message") }
            })
    }

    @Test func `of two processes with one name the later ends, and the earlier goes on as it was`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let standby = try #require(cluster.daemons.first { $0 !== leader })
        for (number, first) in [leader, standby].enumerated() {
            let later = try cluster.join(first.name)
            cluster.pass(.seconds(3))
            #expect(later.stopReason == "\(first.address) has its name", "\(number)")
            #expect(first.stopReason == nil)
            later.kill()
            cluster.pass(.seconds(5))
            #expect(cluster.leaders.map(\.address) == [leader.address] && cluster.log.messages.count == 2)
        }
        // A life before is no other process.
        standby.kill()
        try standby.start()
        cluster.pass(.seconds(3))
        #expect(standby.stopReason == nil)
    }

    @Test func `a new leader brings no kinds and no settings of its own, and reports by what they differ`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let second = try #require(cluster.daemons.first { $0 !== first })
        #expect(!first.reported.contains { $0.hasPrefix("differs") })
        second.kill()
        second.kind = TestCluster.kind.replacingOccurrences(of: #""version":1"#, with: #""version":2"#)
        second.settings.retention = .days(1)
        try second.start()
        cluster.pass(.seconds(2))
        first.kill()
        cluster.pass(.seconds(6))
        #expect(second.isLeading)
        #expect(
            second.reported.contains(
                "differs: kind tea has version 1, and version 2 here; retention is 604800000, and 86400000 here"),
            "\(second.reported)")
        let client = second.connect()
        #expect(second.send("KINDS", from: client).contains { $0.contains("tea") && $0.contains("version=1") })
    }

    @Test
    func
        `a node whose rules are older than the history's leads by those of the history, and SIGHUP does not move it back`()
        throws
    {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let second = try #require(cluster.daemons.first { $0 !== first })
        second.kill()
        second.settings.rules = .first
        try second.start()
        cluster.pass(.seconds(2))
        first.kill()
        cluster.pass(.seconds(6))
        #expect(
            second.reported.contains("differs: rules is 2, and 1 here, which a history does not go back to"),
            "\(second.reported)")
        #expect(second.isLeading && !second.reported.contains { $0.hasPrefix("cannot lead") })
        let client = second.connect()
        #expect(second.send("EVT tea/1 type=start", from: client).contains { $0.hasPrefix("OK verdict=applied") })
        let kind = try #require(Kind.read(try JSONParser.parse(TestCluster.kind), file: "tea.json").0)
        second.settings.retention = .days(3)
        try second.server?.adopt([kind], second.settings)
        cluster.pass(.seconds(2))
        #expect(second.send("STATS", from: client).last?.contains(#""rules":2"#) == true)
        #expect(second.send("EVT tea/2 type=start", from: client).contains { $0.hasPrefix("OK verdict=applied") })
    }

    @Test func `a clock of another speed than the log's leads nothing`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        let second = try #require(cluster.daemons.first { $0 !== first })
        second.kill()
        second.settings.clockSpeed = 2
        try second.start()
        cluster.pass(.seconds(2))
        first.kill()
        cluster.pass(.seconds(6))
        #expect(second.reported.contains { $0.hasPrefix("cannot lead: this journal was written with --clock-speed 1") })
    }
}
