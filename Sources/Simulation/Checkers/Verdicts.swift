/// The verdicts of the final checks, as pure functions of what was shown, posted and answered.
///
/// ``ConvergenceCheck`` asks a simulated daemon and ``LiveConvergenceCheck`` a real one; both judge the answers here.
enum Verdicts {
    /// A promise that was not kept.
    struct Fault: Equatable {
        var promise: String
        var what: String
    }

    /// The rows of a new subscription's snapshot.
    static func snapshot(in lines: [ClientLine], where isOwn: (String) -> Bool = { _ in true }) -> [String: ShownRow] {
        var rows: [String: ShownRow] = [:]
        for line in lines where line.verb == "SNAP" {
            guard let key = line["key"], isOwn(key), let rev = line.integer("rev") else { continue }
            rows[key] = ShownRow(rev: rev, text: line.text)
        }
        return rows
    }

    /// P4, P5: a client that has followed for long shows the same rows as a new one.
    ///
    /// - Parameter client: The client and its subscription, for the message.
    static func convergence(
        of shown: [String: ShownRow], to fresh: [String: ShownRow], client: String
    ) -> Fault? {
        let wrong = Set(fresh.keys).union(shown.keys).sorted().first { key in
            guard let old = shown[key], let new = fresh[key] else { return true }
            return !old.isSame(as: new)
        }
        guard let wrong else { return nil }
        return Fault(
            promise: "P4/P5",
            what: "\(client) shows \(wrong) as \(text(shown[wrong])), and it is \(text(fresh[wrong]))")
    }

    private static func text(_ row: ShownRow?) -> String {
        guard let row else { return "nothing" }
        return "rev \(row.rev) \(String(decoding: row.text, as: UTF8.self))"
    }

    /// P1, P6: every acknowledged event is still known, with the rev that was acknowledged.
    ///
    /// - Parameters:
    ///   - posts: The acknowledged events, which were posted again in this order behind a `HELLO`.
    ///   - lines: Everything that was received on that connection.
    static func acknowledgement(of posts: some Collection<Acknowledgement>, source: String, in lines: [ClientLine])
        -> [Fault]
    {
        let replies = lines.filter(\.isReply).dropFirst()
        var faults: [Fault] = []
        if replies.count != posts.count {
            faults.append(
                Fault(promise: "P1", what: "\(posts.count) retries of \(source) have \(replies.count) answers"))
        }
        for (post, reply) in zip(posts, replies) {
            if reply["verdict"] != "duplicate" {
                let verdict = reply["verdict"] ?? reply["code"] ?? ""
                faults.append(
                    Fault(promise: "P1", what: "\(source) was acknowledged \(post.line), which is now \(verdict)"))
            } else if reply.integer("rev") != post.rev {
                faults.append(
                    Fault(promise: "P6", what: "\(post.line) had rev \(post.rev), and now \(reply["rev"] ?? "")"))
            }
        }
        return faults
    }

    /// P1, P6: a history has only events that were sent, each once, and its records follow the reference model.
    ///
    /// - Parameters:
    ///   - lines: The `HIST` lines of `key`.
    ///   - sent: The ids of all events that were ever sent.
    static func history(_ lines: [ClientLine], of key: String, sent: Set<String>) -> Fault? {
        let records = lines.compactMap { HistoryRecord($0) }
        guard records.count == lines.count else {
            return Fault(promise: "history", what: "\(key) has unreadable records")
        }
        var once: Set<String> = []
        for record in records {
            guard let id = record.id else { continue }
            if !sent.contains(id) { return Fault(promise: "P1", what: "\(key) has \(id), which nobody sent") }
            if !once.insert(id).inserted { return Fault(promise: "P6", what: "\(key) has \(id) twice") }
        }
        var reference = UnknownReference.model(of: key, retention: nil)
        for record in records {
            if let fault = record.fault(by: &reference) {
                return Fault(promise: "reference", what: "\(key) at record \(record.sequence): \(fault)")
            }
        }
        return nil
    }
}

extension Environment {
    func violated(_ fault: Verdicts.Fault) { violated(fault.promise, fault.what) }
}

extension ClientLine {
    /// Whether it answers a request.
    var isReply: Bool { verb == "OK" || verb == "ERR" }
}
