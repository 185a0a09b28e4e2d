import Foundation
import TestSupport
import Testing

/// `telltale` against daemons that refuse, disconnect, stay silent or answer at length.
@Suite(.serialized, .nightly)
struct CommandLineTroubleTests {
    @Test(
        "Who is sent away is told why, once",
        arguments: [["get", "a/b"], ["watch"], ["serve", "a", "--exec", "true"]])
    func sentAway(arguments: [String]) async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let shell = Shell(daemon.address)
            func outcome(_ said: (Peer) throws -> Void) throws -> (status: Int32?, error: String) {
                let program = try shell.start(arguments)
                // It ends with this.
                try said(try daemon.accept())
                return (program.waitForExit(), program.standardError)
            }
            let full = try outcome { try $0.send(#"ERR code=limit_conns retry=later fatal=1 {"msg":"it is full"}"#) }
            #expect(full.status == 1)
            #expect(full.error == "telltale: it is full\n")
            let refused = try outcome { peer in
                try peer.send("\(ScriptedDaemon.greeting) now=1")
                try peer.answer("HELLO", #"ERR code=auth_required retry=auth {"msg":"who are \u001byou?"}"#)
                _ = peer.next()
            }
            #expect(refused.status == 1)
            #expect(refused.error == "telltale: who are  you?\n")
            let other = try outcome { peer in
                try peer.send("TELLTALE 2 epoch=1 hb=1")
                _ = peer.next()
            }
            #expect(other.status == 1)
            #expect(other.error.hasSuffix("the daemon speaks version 2 of the protocol, this client 1\n"))
            #expect(other.error.split(separator: "\n").count == 1)
        }
    }

    @Test func `a command runs on while the connection is lost, and its operation is answered once`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let folder = try TemporaryFolder()
            let (gate, runs) = (folder.path("gate"), folder.path("runs"))
            try #require(unsafe mkfifo(gate, 0o600) == 0)
            // For both at once, so that opening it never waits.
            let opener = unsafe open(gate, O_RDWR | O_CLOEXEC)
            defer { close(opener) }
            let provider = try Shell(daemon.address).start(
                "serve", "light", "--exec",
                "echo $TELLTALE_OP >>\(runs); [ $TELLTALE_KEY != light/slow ] || read go <\(gate); echo $TELLTALE_VALUE"
            )
            defer { provider.kill() }
            // A clock that is decades off: a deadline is not to be measured by any other.
            let now: Int64 = 1_000_000
            let slow = "DO op=o1 key=light/slow action=set value=on deadline=\(now + 600_000)"
            var peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.send(slow)
            try peer.send("DO op=o2 key=light/quick action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o2 value=off"))

            peer.close()
            peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.send(slow)
            // Done already, and only the answer went astray.
            try peer.send("DO op=o2 key=light/quick action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o2 value=off"))
            _ = unsafe write(opener, "go\n", 3)
            #expect(try peer.request("DONE").hasPrefix("DONE op=o1 value=on"))
            try peer.send("DO op=o3 key=light/quick action=set value=on deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o3 value=on"))
            let begun = try String(contentsOfFile: runs, encoding: .utf8).split(separator: "\n")
            #expect(begun.sorted() == ["o1", "o2", "o3"])

            // In another history the same name is another operation's.
            peer.close()
            peer = try daemon.introduce(now: now, epoch: "00000000000000bb")
            try peer.answer("SERVE light", "OK")
            try peer.send("DO op=o3 key=light/quick action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o3 value=off"))
        }
    }

    @Test func `a command makes room for another, and ends at its deadline`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let provider = try Shell(daemon.address).start(
                "serve", "light", "--exec", "[ $TELLTALE_VALUE = off ] || sleep 600")
            defer { provider.kill() }
            // Its clock is far ahead: by this machine's the deadline would be centuries away.
            let now: Int64 = 9_000_000_000_000
            let peer = try daemon.introduce(now: now)
            try peer.answer("SERVE light", "OK")
            try peer.send("DO op=o1 key=light/a action=set value=on deadline=\(now + 600_000)")
            try peer.send("DO op=o2 key=light/a action=set value=off deadline=\(now + 600_000)")
            #expect(try peer.request("DONE").hasPrefix("DONE op=o2 "))
            try peer.send("DO op=o3 key=light/b action=set value=on deadline=\(now + 1)")
            // Nothing was said of o1.
            let failure = try peer.request("FAIL")
            #expect(failure.hasPrefix("FAIL op=o3 code=failed "))
            #expect(failure.hasSuffix(#" {"message":"it was not done by its deadline"}"#))
        }
    }

    @Test func `telltale serve ends with the reason when its service is refused`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let provider = try Shell(daemon.address).start("serve", "light", "--exec", "true")
            defer { provider.kill() }
            let first = try daemon.introduce()
            try first.answer("SERVE light", "OK")
            first.close()
            let again = try daemon.introduce()
            try again.answer("SERVE light", #"ERR code=unknown_kind retry=no {"msg":"there is no light"}"#)
            #expect(provider.waitForExit() == 1)
            #expect(provider.standardError.hasSuffix("trying again\ntelltale: unknown_kind: there is no light\n"))
        }
    }

    @Test func `a situation that is not taken is reported`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let watch = try Shell(daemon.address).start("watch", "--view", "watch", "--trait", "locked=yes", "--once")
            defer { watch.kill() }
            let peer = try daemon.introduce()
            try peer.answer("TRAIT locked=yes", #"ERR code=bad_request retry=no {"msg":"not that"}"#)
            try peer.answer("SUB *", "OK sub=1")
            try peer.send("LIVE sub=1 cur=x")
            #expect(watch.waitForExit() == 0)
            #expect(watch.standardError == "telltale: --trait: bad_request: not that\n")
        }
    }

    @Test func `a long answer is received whole while the reader of the output pauses`() async throws {
        try await onOwnThread {
            let daemon = try ScriptedDaemon()
            let shell = Shell(daemon.address)
            // More than all buffers on the way hold, in lines that are long enough to be quick.
            let count = 200
            let text = String(repeating: "x", count: 60_000)
            func row(_ number: Int) -> String { #"key=a/\#(number) rev=1 {"text":"\#(text)"}"# }

            let list = try shell.start("list")
            defer { list.kill() }
            var peer = try daemon.introduce()
            let id = try #require(try peer.request("LIST").split(separator: " ").last)
            for number in 1...count { try peer.send("SNAP sub=0 \(row(number))") }
            try peer.send("OK \(id) count=\(count)")
            #expect(list.readToEnd().count == count)
            #expect(list.waitForExit() == 0)

            let watch = try shell.start("watch", "--once")
            defer { watch.kill() }
            peer = try daemon.introduce()
            try peer.answer("SUB", "OK sub=1")
            for number in 1...count { try peer.send("SNAP sub=1 \(row(number))") }
            // Changes during the answer are printed in their final state.
            try peer.send("UPD sub=1 key=a/1 rev=2 {}")
            try peer.send("DEL sub=1 key=a/2 rev=3 why=dismissed")
            try peer.send("LIVE sub=1 cur=x")
            let printed = watch.readToEnd().map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
            #expect(printed.first == "a/1 rev=2" && printed.count == count - 1)
            #expect(Set(printed).count == printed.count)
            #expect(watch.waitForExit() == 0)
        }
    }
}
