/// The clients of a world, in the order in which they are made: each has random numbers of its own, so that equal seeds give equal
/// clients.
struct Population {
    private unowned let world: any Environment
    private(set) var clients: [any SimulatedClient] = []

    init(of world: any Environment) {
        self.world = world
    }

    mutating func add(_ count: Int, _ random: inout SimulationRandom, _ make: (Seat) -> any SimulatedClient) {
        for number in 0..<count {
            clients.append(make(Seat(world: world, index: clients.count, number: number, random: random.fork())))
        }
    }

    /// The clients of a scenario.
    mutating func addCrowd(providers: Int, wanderers: Int = 0, _ random: inout SimulationRandom) {
        let climate = world.climate
        add(climate.producers, &random, OrderSystem.init)
        add(climate.screens, &random, Screen.init)
        add(providers, &random, LampProvider.init)
        add(climate.fingers, &random, TapClient.init)
        add(wanderers, &random, ChurnClient.init)
    }
}
