import TelltaleModel

/// The check of the devices after faults and writes have stopped: each card is as the daemon has its activity.
extension ConvergenceCheck {
    func checkPushes() {
        guard isLast else { return }
        for case let sender as SimulatedPushProgram in world.clients {
            guard sender.settle() else {
                let fault = sender.service.fault ?? ("pushes", "telltale-push does not come to rest")
                return world.violated(fault.promise, fault.what)
            }
            if let fault = sender.service.fault { return world.violated(fault.promise, fault.what) }
            for account in SimulatedPushProgram.accounts { check(sender, account) }
        }
    }

    private func check(_ sender: SimulatedPushProgram, _ account: String) {
        var rows: [Key: JSONObject] = [:]
        let words = account.isEmpty ? "" : " for=\(account)"
        for line in ask(SimulatedPushProgram.kinds.map { "SUB \($0)/* view=full\(words)" }) where line.verb == "SNAP" {
            guard let key = line["key"].flatMap({ Key($0) }) else { continue }
            rows[key] = line.tail
        }
        for (key, row) in rows.sorted(by: { $0.key < $1.key }) {
            if let what = fault(ofStart: key, row, account, sender) { return world.violated("starts", what) }
        }
        for (token, card) in sender.service.cards.sorted(by: { $0.key < $1.key }) where card.account == account {
            if let what = fault(of: card, rows[card.key]) {
                return world.violated("pushes", "the card \(token) of \(card.key) for \"\(account)\" \(what)")
            }
        }
    }

    /// A start is sent until it has arrived, or may have: without it the device never shows the activity.
    private func fault(ofStart key: Key, _ row: JSONObject, _ account: String, _ sender: SimulatedPushProgram)
        -> String?
    {
        let lifecycle = row["lifecycle"]?.string
        guard lifecycle == "active" || lifecycle == "stale" else { return nil }
        let start = SimulatedPushService.Start(
            registration: SimulatedPushProgram.startID(account, String(key.kind)), key: key,
            startedAt: row["startedAt"]?.integer ?? 0)
        let hasCard = sender.service.cards.values.contains { $0.account == account && $0.key == key }
        guard !hasCard, !sender.service.mayHaveBegun(start) else { return nil }
        return "\(key) was never begun for \"\(account)\", and no push of it was lost"
    }

    private func fault(of card: SimulatedPushService.Card, _ row: JSONObject?) -> String? {
        let lifecycle = row?["lifecycle"]?.string
        // Nothing is reported of what has not begun, nor of what was gone before the token came.
        if card.rev == 0, row == nil || lifecycle == "pending" { return nil }
        let isOver = row == nil || lifecycle == "ended"
        if card.isEnd, !isOver {
            // The key has begun another activity since.
            let startedAt = row?["startedAt"]?.integer ?? 0
            return startedAt / 1_000 >= card.timestamp - 1 ? nil : "has ended, and its activity has not"
        }
        if !card.isEnd, isOver { return "has not ended, and its activity has" }
        guard !isOver, let row else { return nil }
        var content = row["content"]?.object ?? JSONObject()
        content["status"] = row["state"]
        guard card.content != .object(content) else { return nil }
        return "shows \(card.content ?? .null), and it is \(JSON.object(content))"
    }
}
