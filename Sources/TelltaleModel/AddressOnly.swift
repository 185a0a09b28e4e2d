/// Put into a large struct, it takes care that functions are handed the struct by its address.
///
/// Swift hands a struct of known layout over by value: a method that changes such a `self` and calls one that only looks
/// at it copies all of `self` first, and a hub of 1.4 KB was copied eight times an event. A struct with an existential in
/// it stays where it is.
package struct AddressOnly: Hashable, Sendable {
    private var existential: (any Sendable)?

    package init() {}

    package static func == (left: AddressOnly, right: AddressOnly) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
}
