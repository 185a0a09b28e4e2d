/// A member that makes the compiler pass the enclosing struct by address.
///
/// Swift passes a struct of known layout by value: a mutating method that calls a nonmutating one first copies all of
/// `self`. For a struct as large as the hub, those copies cost more than the call. A struct that stores an existential
/// has no fixed layout, so the compiler passes its address.
package struct AddressOnly: Hashable, Sendable {
    private var existential: (any Sendable)?

    package init() {}

    package static func == (left: AddressOnly, right: AddressOnly) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
}
