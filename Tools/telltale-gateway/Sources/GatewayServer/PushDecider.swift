internal import ApplePush
internal import CoreMetrics
internal import Gateway
internal import Logging
internal import NIOCore
internal import Synchronization
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// The answer to one request: everything that goes into its frames.
struct PushAnswer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8] = []
}

/// Decides one request, with the pure rules of `ApplePush` and the daemon's verdict.
struct PushDecider: Sendable {
    let endpoint: PushEndpoint
    let link: DaemonLink

    /// - Parameter sender: What the connection has shown of its sender.
    func answer(_ request: PushRequest, on sender: PushWriter) async -> PushAnswer {
        let isOfChannels = request.path.hasPrefix("/1/") || request.path.hasPrefix("/4/")
        let idName = isOfChannels ? "apns-request-id" : "apns-id"
        let own = request.header(idName)
        let id = own.flatMap { Self.isID($0) ? $0 : nil } ?? UUIDv7.make()
        var record = PushHistory.Record(
            at: SystemClock.now, method: request.method, path: request.path,
            headers: request.headers.filter { $0.name != "authorization" }, payload: request.body, id: id)
        var headers: [(name: String, value: String)] = [(idName, id)]
        var body: [UInt8] = []
        do throws(PushRefusal) {
            let done =
                isOfChannels
                ? try await channel(request, sender, id, &record)
                : try await device(request, sender, id, &record)
            record.status = done.status
            headers += done.headers
            body = done.body
            if !isOfChannels { headers.append(("apns-unique-id", UUIDv7.make())) }
        } catch {
            record.status = error.reason.status
            record.reason = error.reason.rawValue
            if let note = error.note { record.notes.append(note) }
            body = Self.body(error.reason, at: record.at)
        }
        if let verdict = record.verdict { headers.append(("telltale-verdict", verdict)) }
        if !record.notes.isEmpty {
            headers.append(("telltale-note", Self.fieldValue(record.notes.joined(separator: "; "))))
        }
        if !body.isEmpty { headers.append(("content-type", "application/json")) }
        endpoint.history.remember(record)
        PushEndpoint.counter(record.status, record.reason ?? "-").increment()
        return PushAnswer(status: record.status, headers: headers, body: body)
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 36 && text.utf8.allSatisfy { (0x2D...0x7A).contains($0) }
    }

    private static func fieldValue(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(1_000).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self
        )
    }

    private static func body(_ reason: PushReason, at now: Timestamp) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("reason", reason.rawValue)
            if reason == .unregistered { writer.member("timestamp", now.milliseconds) }
        }
    }

    private struct Done {
        var status = 200
        var headers: [(name: String, value: String)] = []
        var body: [UInt8] = []
    }

    // MARK: Who asks, and for what

    private func rules() throws(PushRefusal) -> PushRules {
        let rules = endpoint.rules
        guard link.isOpen || rules.policy == .verify else {
            endpoint.log.error(
                "push refused", metadata: ["why": "the daemon wants tokens, so that --apns needs auth verify"])
            throw PushRefusal(.invalidProviderToken, "the daemon wants tokens, so that the endpoint is to verify them")
        }
        return rules
    }

    private func directory() async throws(PushRefusal) -> PushDirectory {
        do throws(Problem) {
            return try await endpoint.apps(link)
        } catch {
            throw refusal(of: error)
        }
    }

    private static var now: Int64 { SystemClock.now.milliseconds / 1_000 }

    // MARK: Devices

    private func device(
        _ request: PushRequest, _ sender: PushWriter, _ id: String,
        _ record: inout PushHistory.Record
    ) async throws(PushRefusal) -> Done {
        let directory = try await directory()
        // After it, because the daemon has greeted by then.
        let rules = try rules()
        let result: Result<DevicePush, PushRefusal> = sender.connection.withLock { connection in
            do throws(PushRefusal) {
                return .success(
                    try DevicePush(
                        request, rules, directory, on: &connection, now: Self.now, endpoint.cryptography))
            } catch {
                return .failure(error)
            }
        }
        let push = try result.get()
        if let note = endpoint.spend(push, at: record.at) { record.notes.append(note) }
        guard push.type == .liveactivity else {
            record.notes.append("a push of type \(push.type.rawValue) shows nothing here")
            return Done()
        }
        let address: ActivityPayload.Address =
            switch push.token.subject {
            case .start(let app, let kind):
                .start(app: app, kind: kind, account: push.token.account, release: push.token.release)
            case .update(let key): .update(key)
            }
        let outcome = try ActivityPayload.read(
            try? EventRequest.json(request.body.span), to: address, directory.apps[push.bundle] ?? .init(), id: id,
            source: Self.source(push.team), token: push.tokenText, endpoint.cryptography)
        try await answerRequest(outcome, of: address, &record)
        return Done()
    }

    private static func source(_ team: String?) -> String { team.map { "apns:\($0)" } ?? "apns" }

    private func answerRequest(
        _ outcome: PushOutcome, of address: ActivityPayload.Address, _ record: inout PushHistory.Record
    ) async throws(PushRefusal) {
        switch outcome {
        case .drop(let note): record.notes.append(note)
        case .post(let command, let notes):
            record.notes += notes
            record.key = command.key.text
            record.type = command.type
            do throws(Problem) {
                let line = try await link.askForSelf(.event(command)).reply.line
                record.verdict = line["verdict"]
                if line["old_end"] == "1" { record.notes.append("old_end: the timestamp is older than the last") }
                if let hint = line.tail?["msg"]?.string { record.notes.append(hint) }
                if line["verdict"] == "ignored", case .update(let key) = address { try await checkLife(key) }
            } catch {
                try notePostFault(error, address, &record)
            }
        }
    }

    /// A token is valid only as long as its activity.
    private func checkLife(_ key: Key) async throws(Problem) {
        let row = try await link.askForSelf(.get(key, view: .full)).reply.line.tail
        if row?["lifecycle"]?.string == "dismissed" { throw Problem("unknown_key", "\(key) was dismissed") }
    }

    /// A fault that Apple's service would not detect becomes a note; any other is a refusal.
    private func notePostFault(
        _ problem: Problem, _ address: ActivityPayload.Address, _ record: inout PushHistory.Record
    ) throws(PushRefusal) {
        switch problem.code {
        case "unknown_key":
            guard case .update = address else { return record.notes.append(problem.title) }
            throw PushRefusal(.unregistered, problem.title)
        case "too_large", "line_too_long", "bad_json", "bad_attr", "bad_action", "machine_error", "unknown_kind",
            "limit_activities", "limit_accounts", "limit_keys", "limit_sources", "dup_mismatch":
            record.notes.append(problem.title)
        default: throw refusal(of: problem)
        }
    }

    private func refusal(of problem: Problem) -> PushRefusal {
        switch problem.code {
        case "limit_rate", "cooling": return PushRefusal(.tooManyRequests, problem.title)
        case "shutting_down": return PushRefusal(.shutdown, problem.title)
        case "storage_full", "storage_failed", "daemon_unreachable", "outcome_unknown", "limit_conns", "busy":
            return PushRefusal(.serviceUnavailable, problem.title)
        default:
            endpoint.log.error("push failed", metadata: ["code": "\(problem.code)", "why": "\(problem.title)"])
            return PushRefusal(.internalServerError, problem.title)
        }
    }

    // MARK: Channels

    private func channel(
        _ request: PushRequest, _ sender: PushWriter, _ id: String,
        _ record: inout PushHistory.Record
    ) async throws(PushRefusal) -> Done {
        let directory = try await directory()
        // After it, because the daemon has greeted by then.
        let rules = try rules()
        let channels = endpoint.channels.current
        let result: Result<ChannelRequest, PushRefusal> = sender.connection.withLock { connection in
            do throws(PushRefusal) {
                return .success(
                    try ChannelRequest(
                        request, rules, directory, channels, on: &connection, now: Self.now, endpoint.cryptography))
            } catch {
                return .failure(error)
            }
        }
        switch try result.get() {
        case .create(let bundle, let storagePolicy):
            guard let channel = endpoint.channels.create(bundle: bundle, storagePolicy: storagePolicy) else {
                throw PushRefusal(.serviceUnavailable, "the channel cannot be written to --state")
            }
            return Done(status: 201, headers: [("apns-channel-id", channel.id)])
        case .read(let channel): return Done(body: channel.body)
        case .delete(let channel):
            guard endpoint.channels.delete(channel) else {
                throw PushRefusal(.serviceUnavailable, "the channels cannot be written to --state")
            }
            return Done(status: 204)
        case .list(let bundle): return Done(body: PushChannel.list(channels, of: bundle))
        case .broadcast(let channel, let team, _):
            try await broadcast(request, channel, team, id, directory, &record)
            return Done()
        }
    }

    private func broadcast(
        _ request: PushRequest, _ channel: PushChannel, _ team: String?, _ id: String, _ directory: PushDirectory,
        _ record: inout PushHistory.Record
    ) async throws(PushRefusal) {
        let app = directory.apps[channel.bundle] ?? .init()
        let identifier = PushChannel.identifier(of: channel.id, endpoint.cryptography)
        let kind: String?
        do throws(Problem) {
            kind = try await endpoint.kind(of: channel, app, identifier, link)
        } catch {
            throw refusal(of: error)
        }
        guard let kind, let key = Key(kind: kind, id: identifier) else {
            return record.notes.append("no activity follows this channel")
        }
        let outcome = try ActivityPayload.read(
            try? EventRequest.json(request.body.span), to: .channel(key), app, id: id, source: Self.source(team),
            token: "", endpoint.cryptography)
        try await answerRequest(outcome, of: .channel(key), &record)
    }
}

extension PushEndpoint {
    /// The kind of the one activity of a channel; a broadcast does not name it.
    ///
    /// - Throws: If there is no answer, because the broadcast must not be taken for one without an activity.
    func kind(
        of channel: PushChannel, _ app: PushDirectory.App, _ identifier: String, _ link: DaemonLink
    ) async throws(Problem) -> String? {
        for kind in app.kinds.sorted() {
            guard let key = Key(kind: kind, id: identifier) else { continue }
            do throws(Problem) {
                _ = try await link.askForSelf(.get(key, view: .full))
                return kind
            } catch {
                guard ["unknown_key", "unknown_kind"].contains(error.code) else { throw error }
            }
        }
        return nil
    }
}
