/// The states that a transition exits and enters, computed from the configuration and the history alone.
extension Step {
    /// SCXML's computeExitSet for one transition. It is empty exactly if the transition enters nothing.
    func exitSet(of index: Int) -> StateSet {
        if chart.tables.transitions[index].staysInRegions, let regions = regions(movedBy: index) {
            var exits = StateSet(stateCount: chart.tables.stateCount)
            for (region, _) in regions { exits.formUnion(chart.tables.tree.descendants(of: region)) }
            return instance.configuration.intersection(exits)
        }
        if chart.tables.transitions[index].usesHistory {
            guard let domain = domain(of: chart.tables.transitions[index]) else {
                return StateSet(stateCount: chart.tables.stateCount)
            }
            return instance.configuration.intersection(chart.tables.tree.descendants(of: domain))
        }
        // A skip to states that are all active changes nothing.
        if chart.tables.transitions[index].isSkip,
            chart.tables.transitions[index].targetSet.isSubset(of: instance.configuration)
        {
            return StateSet(stateCount: chart.tables.stateCount)
        }
        return instance.configuration.intersection(chart.tables.transitions[index].exitCandidates)
    }

    /// The regions in which a skip moves, each with its targets.
    ///
    /// A skip reports the progress of one region and says nothing about the others. While the parallel state around a
    /// target is active, the other regions stay as they are; SCXML would exit all regions and enter their defaults. The
    /// result is the same before and after the exits of the microstep, because the exited states are inside the
    /// regions.
    ///
    /// - Returns: `nil` if the parallel state is not active; the transition is then like any other.
    private func regions(movedBy index: Int) -> [(region: Int, targets: [Int])]? {
        let tree = chart.tables.tree
        guard let domain = domain(of: chart.tables.transitions[index]) else { return nil }
        var regions: [(region: Int, targets: [Int])] = []
        for target in chart.tables.transitions[index].targets {
            // A target that is active already moves nothing.
            if instance.configuration.contains(target) { continue }
            var region = target
            while tree.isDescendant(region, of: domain), !isActiveRegion(region) { region = tree.nodes[region].parent }
            guard tree.isDescendant(region, of: domain) else { return nil }
            if let position = regions.firstIndex(where: { $0.region == region }) {
                regions[position].targets.append(target)
            } else {
                regions.append((region, [target]))
            }
        }
        return regions
    }

    private func isActiveRegion(_ state: Int) -> Bool {
        let parent = chart.tables.parents[state]
        return chart.tables.tree.nodes[parent].kind == .parallel && instance.configuration.contains(parent)
    }

    func addEntrySet(of index: Int, to entries: inout StateSet) {
        if chart.tables.transitions[index].staysInRegions, let regions = regions(movedBy: index) {
            for (region, targets) in regions {
                var set = EntrySet(tree: chart.tables.tree, history: instance.history)
                set.add(targets: targets, below: region)
                entries.formUnion(set.states)
            }
            return
        }
        guard chart.tables.transitions[index].usesHistory else {
            return entries.formUnion(chart.tables.transitions[index].entrySet)
        }
        guard let domain = domain(of: chart.tables.transitions[index]) else { return }
        var set = EntrySet(tree: chart.tables.tree, history: instance.history)
        set.add(targets: chart.tables.transitions[index].targets, below: domain)
        entries.formUnion(set.states)
    }

    /// The domain of a transition that depends on history; `nil` if it leads to its own source without re-entering.
    private func domain(of transition: Transition) -> Int? {
        var set = EntrySet(tree: chart.tables.tree, history: instance.history)
        let targets = set.effectiveTargets(of: transition.targets)
        return chart.tables.tree.domain(of: transition.source, targets: targets, reenter: transition.reenter)
    }
}
