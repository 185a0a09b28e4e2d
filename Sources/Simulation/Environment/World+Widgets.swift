// The clients of widgets.
extension World {
    /// Only the simulation's own cast has kinds of widgets.
    var hasWidgets: Bool { climate.widgets > 0 && setting.cast == .simulated }

    /// A shop and screens; nothing where there are no widgets.
    func makeWidgetClients() -> [any SimulatedClient] {
        guard hasWidgets else { return [] }
        let first = clients.count
        let source = WidgetSource(world: self, index: first, random: random.fork())
        widgetSource = source
        return [source.client]
            + (0..<climate.widgets).map { number in
                WidgetScreen(world: self, index: first + 1 + number, number: number, random: random.fork())
            }
    }
}
