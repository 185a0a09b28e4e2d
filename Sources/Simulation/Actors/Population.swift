/// The clients of a scenario.
enum Population {
    /// Makes the clients in a fixed order, each with a random generator of its own, so that equal seeds give equal clients.
    ///
    /// - Parameters:
    ///   - providers: How many providers of controls there are.
    ///   - churnClients: How many ``ChurnClient``s there are.
    static func clients(
        in world: any Environment, providers: Int, churnClients: Int, random: inout SimulationRandom
    ) -> [any SimulatedClient] {
        let climate = world.climate
        var clients: [any SimulatedClient] = []
        func add(_ count: Int, _ make: (_ index: Int, _ number: Int, SimulationRandom) -> any SimulatedClient) {
            for number in 0..<count { clients.append(make(clients.count, number, random.fork())) }
        }
        add(climate.producers) { OrderSystem(world: world, index: $0, number: $1, random: $2) }
        add(climate.screens) { Screen(world: world, index: $0, number: $1, random: $2) }
        add(providers) { LampProvider(world: world, index: $0, number: $1, random: $2) }
        add(climate.fingers) { TapClient(world: world, index: $0, number: $1, random: $2) }
        add(churnClients) { index, _, random in ChurnClient(world: world, index: index, random: random) }
        return clients
    }
}
