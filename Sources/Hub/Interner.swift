/// Small dense numbers for names: accounts and apps.
struct Interner: Sendable {
    private var numbers: [String: Int32] = [:]

    /// The number of a name that has one.
    func known(_ name: String) -> Int32? { numbers[name] }

    mutating func number(of name: String) -> Int32 {
        if let number = numbers[name] { return number }
        let number = Int32(numbers.count)
        numbers[name] = number
        return number
    }
}
