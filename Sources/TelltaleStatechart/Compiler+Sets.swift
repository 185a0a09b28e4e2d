/// The tables that hold sets of states, and the slots of history states.
extension Compiler {
    mutating func makeSets() {
        let count = states.count
        var slot = 0
        for parent in tree.nodes.indices {
            let first = slot
            for state in tree.nodes[parent].histories {
                guard case .history(let deep) = tree.nodes[state].kind else { continue }
                var candidates = StateSet(stateCount: count)
                if deep {
                    for inner in parent + 1..<tree.nodes[parent].end where isLeaf(inner) { candidates.insert(inner) }
                } else {
                    for child in tree.nodes[parent].children { candidates.insert(child) }
                }
                tables.historyStates.append(HistoryTableEntry(isDeep: deep, candidates: candidates))
                tree.nodes[state].historySlot = slot
                slot += 1
            }
            tables.histories.append(first..<slot)
        }
        let none = StateSet(stateCount: count)
        tables.tree = tree
        tables.states = states
        tables.leaves = none
        tables.finals = none
        tables.topLevelFinals = none
        tables.needsEntryWork = none
        tables.hasExitActions = none
        tables.hasTimers = none
        tables.hasHistory = none
        tables.hasAlways = none
        tables.hasWildcard = none
        tables.hasRank = none
        tables.isParallel = tree.nodes[0].kind == .parallel
        for state in tree.nodes.indices {
            if isLeaf(state) { tables.leaves.insert(state) }
            if tree.nodes[state].kind == .final {
                tables.finals.insert(state)
                if tree.nodes[state].parent == 0 { tables.topLevelFinals.insert(state) }
            }
            if !tree.nodes[state].histories.isEmpty { tables.hasHistory.insert(state) }
            if rank(of: state) != nil { tables.hasRank.insert(state) }
            tables.ranks.append(rank(of: state))
            tables.parents.append(tree.nodes[state].parent)
            tables.doneEvents.append(canComplete(state) ? event(doneName(of: state)) : -1)
        }
        var entry = EntrySet(tree: tree, history: [])
        entry.addWithDescendants(0)
        tables.initialEntry = entry.states
        tables.initialUsesHistory = entry.usesHistory
    }

    func isLeaf(_ state: Int) -> Bool {
        switch tree.nodes[state].kind {
        case .atomic, .final: true
        case .compound, .parallel, .history: false
        }
    }

    mutating func makeHearers() {
        tables.hearers = [StateSet](repeating: tables.hasWildcard, count: tables.events.names.count)
        for state in tree.nodes.indices {
            for trigger in tables.stateTriggers[state] { tables.hearers[tables.triggers[trigger].event].insert(state) }
        }
    }
}
