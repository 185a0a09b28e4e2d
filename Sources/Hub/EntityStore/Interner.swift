/// Small dense numbers for names: accounts, apps and kinds.
///
/// A name keeps its number while somebody retains it. Customers come and go for years, and clients may follow unknown kinds: an
/// unused name is forgotten, and its number is reused.
struct Interner: Sendable {
    private var numbers: [String: Int32] = [:]
    private var names: [String] = []
    private var holders: [Int] = []
    private var free: [Int32] = []

    /// The number of names.
    var count: Int { numbers.count }

    /// All numbers are below this.
    var limit: Int { names.count }

    /// Whether the number stands for the name of a board.
    func isBoard(_ number: Int32) -> Bool {
        number >= 0 && number < names.count && names[Int(number)].utf8.first == UInt8(ascii: "@")
    }

    /// The number of a name, if it has one.
    func known(_ name: String) -> Int32? { numbers[name] }

    /// Retains a name and returns its number, which is created if there is none.
    mutating func retain(_ name: String) -> Int32 {
        if let number = numbers[name] {
            holders[Int(number)] += 1
            return number
        }
        let number: Int32
        if let reused = free.popLast() {
            number = reused
            names[Int(number)] = name
            holders[Int(number)] = 1
        } else {
            number = Int32(names.count)
            names.append(name)
            holders.append(1)
        }
        numbers[name] = number
        return number
    }

    /// Releases a name.
    mutating func release(_ number: Int32) {
        holders[Int(number)] -= 1
        guard holders[Int(number)] == 0 else { return }
        numbers[names[Int(number)]] = nil
        names[Int(number)] = ""
        free.append(number)
    }
}
