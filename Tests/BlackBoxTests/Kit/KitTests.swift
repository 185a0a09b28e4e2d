import Foundation
import Glibc
import Synchronization
import TelltaleKit
import TelltaleModel
import TestSupport
import Testing

/// The library for apps, beside a real daemon.
@Suite(.serialized, .endsOneDay)
struct KitTests {
    private let daemon: DaemonProcess
    private let shop: Telltale
    private let cutting: CuttingTransport
    /// A client whose connections are cut.
    private let screen: Telltale

    init() throws {
        daemon = try DaemonProcess()
        shop = try Telltale("127.0.0.1:\(daemon.port)", options: Self.options)
        cutting = CuttingTransport(port: daemon.port)
        screen = try Telltale(over: cutting, options: Self.options)
    }

    private static var options: Telltale.Options {
        var options = Telltale.Options()
        options.timeout = .seconds(60)
        options.backoff = .milliseconds(1) ... .milliseconds(10)
        return options
    }

    /// Takes changes up to the first one that `isLast`.
    private func receiveRow<Activity>(
        _ iterator: inout Changes<Activity>.AsyncIterator, until isLast: (Change<Activity>) -> Bool
    ) async throws -> [Change<Activity>] {
        var found: [Change<Activity>] = []
        while let change = try await iterator.next() {
            found.append(change)
            if isLast(change) { return found }
        }
        throw EndedEarly()
    }

    private struct EndedEarly: Error {}

    private func rows<Activity>(_ changes: [Change<Activity>]) -> [String] {
        changes.compactMap { change in
            switch change {
            case .update(let update): "\(update.key) \(update.rev)"
            case .removal(let removal): "\(removal.key) \(removal.rev) \(removal.why)"
            case .milestone, .alert, .changed, .live, .reset, .connected, .disconnected: nil
            }
        }
    }

    @Test func `an order on a car, a watch, a desktop and a phone`() async throws {
        try await shop.post(
            "coffee-order/1", "start", attributes: ["item": "Flat white", "shop": "Corner"], accounts: ["alice"])
        let posted = try await shop.post("coffee-order/1", "CONFIRMED")
        #expect(posted.verdict == .applied && posted.state == "queued")
        var options = Self.options
        options.account = "alice"
        let alice = try Telltale("127.0.0.1:\(daemon.port)", options: options)
        var title: String?
        for try await change in alice.follow("coffee-order/*", view: .carplay) {
            if case .update(let update) = change { title = update.activity?.card.parts.title }
            if change.isLive { break }
        }
        #expect(title == "In the queue")
        var watch = alice.follow("coffee-order/*", view: .watch).makeAsyncIterator()
        let onWatch = try await receiveRow(&watch) { $0.isLive }.compactMap {
            if case .update(let row) = $0 { row.activity } else { nil }
        }
        #expect(onWatch.map(\.order) == [1] && onWatch[0].frame.lifecycle == .active && onWatch[0].card.isInteractive)
        #expect(try await alice.get("coffee-order/1", view: .desktop).activity?.card.presentation == .compact)
        let phone = try await alice.list("coffee-order/*", view: .phone)
        #expect(phone.count == 1 && phone[0].activity?.lockScreen != nil && phone[0].activity?.island != nil)
        #expect(try await alice.list("coffee-order/*", view: .pad).first?.activity?.lockScreen != nil)
        let full = try await alice.get("coffee-order/1")
        #expect(full.activity?.state == "queued" && full.activity?.attributes["item"] == "Flat white")
        #expect(try await shop.history("coffee-order/1").map(\.type) == ["start", "CONFIRMED"])
        #expect(try await shop.kinds().contains { $0.name == "porch-light" && $0.type == "toggle" })
        #expect(try await alice.open("coffee-order/1")["presentation"] == "lockScreen")
        // An alert comes before its row; what was seen and dismissed is gone on this account's devices.
        var seen = alice.follow("coffee-order/*", view: .watch).makeAsyncIterator()
        _ = try await receiveRow(&seen) { $0.isLive }
        try await shop.post("coffee-order/1", "brew")
        try await shop.post("coffee-order/1", "ready", content: ["shelf": "B"])
        let alerted = try await receiveRow(&seen) { if case .alert = $0 { true } else { false } }
        guard case .alert(let alert)? = alerted.last else { return }
        #expect(alert.style == "alert" && alert.title?.isEmpty == false)
        try await alice.seen("coffee-order/1", rev: alert.rev)
        try await alice.dismiss("coffee-order/1")
        let removed = try await receiveRow(&seen) { if case .removal = $0 { true } else { false } }
        #expect(rows(removed).last?.hasSuffix("dismissed") == true)
        #expect(try await shop.statistics()["connections"]?.integer ?? 0 > 0)
    }

    @Test("An event whose reply is lost takes effect once", .behaviour("reconnect"))
    func lostReply() async throws {
        try await screen.ping()
        cutting.cut(before: "OK id=")
        let posted = try await screen.post("coffee-order/1", "start")
        #expect(posted.verdict == .duplicate)
        cutting.cut(before: "OK id=")
        #expect(try await screen.history("coffee-order/1").map(\.verdict) == ["applied"])
    }

    @Test("Requests wait for a daemon that starts again", .behaviour("reconnect"))
    func restart() async throws {
        #expect(try await shop.post("coffee-order/1", "start").verdict == .applied)
        var daemon = daemon
        daemon.send(SIGKILL)
        _ = daemon.waitForExit()
        daemon = try DaemonProcess(in: daemon.folder, port: daemon.port)
        #expect(try await shop.post("coffee-order/1", "CONFIRMED").verdict == .applied)
        withExtendedLifetime(daemon) {}
    }

    @Test("A list that is cut is whole", .behaviour("answer-begins-again"))
    func cutList() async throws {
        for number in 0..<5 { try await shop.post("coffee-order/\(number)", "start") }
        cutting.cut(before: "SNAP sub=0 key=coffee-order/3")
        #expect(try await screen.list("coffee-order/*").map(\.key.text) == (0..<5).map { "coffee-order/\($0)" })
    }

    @Test("A follower that was away gets what changed", .behaviour("resume"))
    func resume() async throws {
        for number in 1...3 { try await shop.post("coffee-order/\(number)", "start") }
        var iterator = screen.follow("coffee-order/*").makeAsyncIterator()
        #expect(try await rows(receiveRow(&iterator) { $0.isLive }).count == 3)
        let (confirmed, ended) = try await cutting.cut {
            (
                try await shop.post("coffee-order/1", "CONFIRMED"),
                try await shop.post("coffee-order/2", "end", data: ["dismissal-date": 0])
            )
        }
        let away = try await receiveRow(&iterator) { $0.isLive }
        #expect(
            rows(away) == [
                "coffee-order/1 \(confirmed.rev ?? 0)", "coffee-order/2 \(ended.rev ?? 0) dismissed",
            ])
        #expect(cutting.connections[1].said.contains(" from="))
    }

    @Test("A stored cursor resumes behind its change", .behaviour("resume-elsewhere"))
    func stored() async throws {
        for number in 1...2 { try await shop.post("coffee-order/\(number)", "start") }
        let following = shop.follow("coffee-order/*")
        #expect(following.cursor == nil)
        var iterator = following.makeAsyncIterator()
        _ = try await receiveRow(&iterator) { $0.isLive }
        try await shop.post("coffee-order/1", "CONFIRMED")
        _ = try await receiveRow(&iterator) { if case .update = $0 { true } else { false } }
        let cursor = try #require(following.cursor)
        await following.close()
        let later = try await shop.post("coffee-order/2", "CONFIRMED")
        var again = screen.follow("coffee-order/*", cursor: cursor).makeAsyncIterator()
        #expect(try await rows(receiveRow(&again) { $0.isLive }) == ["coffee-order/2 \(later.rev ?? 0)"])
    }

    @Test("Another history is told, and old keys go", .behaviour("reset"))
    func reset() async throws {
        for number in 1...2 { try await shop.post("coffee-order/\(number)", "start") }
        var iterator = screen.follow("coffee-order/*").makeAsyncIterator()
        _ = try await receiveRow(&iterator) { $0.isLive }
        daemon.send(SIGKILL)
        _ = daemon.waitForExit()
        let other = try DaemonProcess(port: daemon.port)
        let changes = try await receiveRow(&iterator) { $0.isLive }
        #expect(changes.contains(.reset(why: "epoch")))
        #expect(rows(changes).map { $0.split(separator: " ")[0] } == ["coffee-order/1", "coffee-order/2"])
        #expect(rows(changes).allSatisfy { $0.hasSuffix("reset") })
        withExtendedLifetime(other) {}
    }

    @Test("A snapshot that is cut comes again", .behaviour("cut-snapshot"))
    func cutSnapshot() async throws {
        for number in 1...3 { try await shop.post("coffee-order/\(number)", "start") }
        cutting.cut(before: "SNAP sub=1 key=coffee-order/2")
        var iterator = screen.follow("coffee-order/*").makeAsyncIterator()
        var shown = Rows<FullRow>()
        for change in try await receiveRow(&iterator, until: { $0.isLive }) { shown.apply(change) }
        #expect(shown.activities.count == 3 && !cutting.connections[1].said.contains(" from="))
    }

    @Test(
        "A reader that takes its changes slowly gets the newest rows, and every commit is counted", .nightly,
        .behaviour("slow-reader"))
    func slowReader() async throws {
        let (keys, count) = ((0..<300).map { "coffee-order/\($0)" }, 3_000)
        let shop = shop
        for key in keys { try await shop.post(key, "start") }
        var iterator = shop.follow("coffee-order/*").makeAsyncIterator()
        _ = try await receiveRow(&iterator) { $0.isLive }
        let text = JSON.string(String(repeating: "x", count: 900))
        var newest: [String: Int64] = [:]
        try await withThrowingTaskGroup(of: Posted.self) { group in
            for number in 0..<count {
                group.addTask {
                    try await shop.post(
                        keys[number % 300], "update", content: ["eta": .integer(Int64(number)), "text": text])
                }
            }
            for try await posted in group {
                newest[posted.key.text] = max(newest[posted.key.text] ?? 0, posted.rev ?? 0)
            }
        }
        var seen: [String: Int64] = [:]
        var commits = 0
        while seen != newest, let change = try await iterator.next() {
            guard case .update(let update) = change else { continue }
            #expect(update.rev >= seen[update.key.text] ?? 0)
            seen[update.key.text] = update.rev
            commits += 1 + update.skipped
        }
        #expect(commits == count)
    }

    @Test("The same eid takes effect once", .behaviour("duplicate-eid"))
    func duplicate() async throws {
        let first = try await shop.post("coffee-order/1", "start", content: ["eta": 5], source: "pos", eid: "e1")
        let second = try await screen.post("coffee-order/1", "start", content: ["eta": 5], source: "pos", eid: "e1")
        #expect(first.verdict == .applied && second.verdict == .duplicate && second.rev == first.rev)
        do throws(TelltaleError) {
            try await screen.post("coffee-order/1", "CONFIRMED", source: "pos", eid: "e1")
            Issue.record("it was taken")
        } catch {
            #expect(error.refusal?.code == "dup_mismatch" && error.refusal?.retry == .no && error.refusal?.eid == "e1")
        }
    }

    @Test("A tap on an old row does nothing", .behaviour("stale-tap"))
    func staleTap() async throws {
        let key = "porch-light/front"
        let provider = shop.provide("porch-light", values: { [key: false] }) { $0.value }
        let running = Task { try await provider.run() }
        var following = screen.follow("porch-light/*", view: .carplay)
        var iterator = following.makeAsyncIterator()
        let reported = try await receiveRow(&iterator) { $0.control?.value == false && $0.control?.isAvailable == true }
        guard case .update(let old)? = reported.last else { return }
        // Made with the follower, a tap is shown as wanted at once.
        try await following.set(key, true, ifRev: old.rev)
        let tapped = try await receiveRow(&iterator) { $0.control?.value == true && $0.control?.phase == .settled }
        #expect(tapped.contains { $0.control?.isPending == true && $0.control?.shown == true } || tapped.count == 1)
        guard case .update(let new)? = tapped.last else { return }
        do throws(TelltaleError) {
            try await shop.set(key, false, ifRev: old.rev)
            Issue.record("it was taken")
        } catch {
            #expect(
                error.refusal?.isStaleTap == true && error.refusal?.retry == .resync
                    && error.refusal?.currentRev == new.rev)
        }
        #expect(try await shop.get(key, view: .carplay).control?.value == true)
        running.cancel()
        try await running.value
        following = screen.follow("porch-light/*", view: .carplay)
    }

    @Test("A provider that was lost serves again and is asked again", .behaviour("provider-lost"))
    func providerLost() async throws {
        let key = "porch-light/front"
        let value = Mutex(false)
        let asked = Mutex(0)
        let (news, goOn) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        let provider = screen.provide("porch-light", values: { [key: value.withLock { $0 }] }) { action in
            asked.withLock { $0 += 1 }
            news.continuation.yield()
            for await _ in goOn.stream { break }
            value.withLock { $0 = action.value ?? false }
            return action.value
        }
        let running = Task { try await provider.run() }
        var iterator = shop.follow("porch-light/*", view: .watch).makeAsyncIterator()
        _ = try await receiveRow(&iterator) { $0.control?.isAvailable == true && $0.control?.value == false }
        let tapped = try await shop.set(key, true)
        for await _ in news.stream { break }
        cutting.cut()
        try await waitUntil {
            cutting.connections.count >= 2 && cutting.connections[1].said.contains("REPORT")
        }
        goOn.continuation.yield()
        let settled = try await receiveRow(&iterator) { $0.control?.value == true && $0.control?.phase == .settled }
        #expect(
            settled.last?.control?.last?.operation == tapped.operation
                && settled.last?.control?.last?.result == "confirmed")
        #expect(asked.withLock { $0 } == 1)
        running.cancel()
        try await running.value
        _ = try await receiveRow(&iterator) { $0.control?.isAvailable == false }
        do throws(TelltaleError) {
            try await shop.set(key, false)
            Issue.record("it was taken")
        } catch {
            #expect(error.refusal?.isUnavailable == true && error.refusal?.retry == .later)
        }
    }

    @Test("A loop that is left takes its subscription with it")
    func left() async throws {
        for try await change in shop.follow("*") where change.isLive { break }
        try await waitUntil { try await shop.statistics()["subscriptions"] == 0 }
        #expect(try await shop.statistics()["connections"] == 1)
    }

    @Test func `a Unix socket`() async throws {
        let folder = try TemporaryFolder()
        let other = try DaemonProcess(["--socket", folder.path("s")])
        let telltale = try Telltale("unix:\(folder.path("s"))", options: Self.options)
        #expect(try await telltale.post("errand/1", "start").verdict == .applied)
        #expect(try await telltale.list("errand/*").count == 1)
        await telltale.close()
        withExtendedLifetime(other) {}
    }
}

extension Change {
    fileprivate var isLive: Bool { if case .live = self { true } else { false } }
    fileprivate var control: ControlRow? { if case .update(let update) = self { update.control } else { nil } }
}
