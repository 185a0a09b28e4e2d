import FanOut
import Machines
import TelltaleModel
import Testing

@testable import Hub

/// The table of entities by key.
struct EntityTableTests {
    private static func key(_ number: Int) throws -> Key { try #require(Key("order/\(number)")) }

    /// One of `count` keys, each with its number as its rev.
    private static func table(_ count: Int) throws -> EntityTable {
        var table = EntityTable()
        for number in 0..<count {
            let index = table.intern(try key(number))
            table[index].rev = Int64(number)
            table[index].state = .button(Button(provider: .none))
        }
        return table
    }

    @Test(arguments: [0, 1, 127, 128, 129, 1_000])
    func `every key is found, in the order in which they came`(count: Int) throws {
        let table = try Self.table(count)
        #expect(table.count == count)
        #expect(table.indices.count == count)
        #expect(Array(table.existing) == Array(table.indices))
        for (number, index) in table.indices.enumerated() {
            let key = try Self.key(number)
            #expect(table.index(of: key) == index)
            #expect(table[index].key == key)
            #expect(table[index].rev == Int64(number))
        }
        #expect(table.index(of: try Self.key(count)) == nil)
    }

    @Test func `the part that a snapshot shares stays unchanged, whatever happens to the table`() throws {
        var table = try Self.table(300)
        let copy = table.withoutLookup
        for index in Array(table.indices) where index.rawValue % 3 != 0 {
            table[index].rev = -1
            table[index].state = .none
            table.freeIfEmpty(index)
        }
        for number in 300..<900 { table[table.intern(try Self.key(number))].rev = -1 }
        #expect(copy.indices.map { copy[$0].rev } == Array(0..<300))
        #expect(try copy.indices.map { copy[$0].key } == (0..<300).map { try Self.key($0) })
        #expect(Array(copy.existing) == Array(copy.indices))
    }

    @Test func `an index goes to another key when nothing is left behind it, and nothing of the old one with it`()
        throws
    {
        var table = try Self.table(200)
        let index = try #require(table.index(of: try Self.key(130)))
        table[index].lastRecord = 7
        table[index].armed = Timestamp(milliseconds: 7)
        table.freeIfEmpty(index)
        #expect(table[index].key != nil, "it has content")
        table[index].state = .none
        table.freeIfEmpty(index)
        #expect(table[index].key == nil)
        #expect(table.index(of: try Self.key(130)) == nil)
        #expect(table.count == 199)

        #expect(table.intern(try Self.key(1_000)) == index)
        #expect(table[index].key == (try Self.key(1_000)))
        #expect(table[index].rev == 0)
        #expect(table[index].lastRecord == 0)
        #expect(table[index].armed == nil)
        #expect(table[index].kind == -1)
        #expect(table.indices.count == 200)
    }
}
