public import Testing

/// Names the row of Protocols/Clients/behaviours.md that a test shows.
public struct Behaviour: TestTrait, SuiteTrait {
    public let id: String
}

extension Trait where Self == Behaviour {
    public static func behaviour(_ id: String) -> Behaviour { Behaviour(id: id) }
}
