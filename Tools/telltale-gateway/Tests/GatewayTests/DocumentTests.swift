import Foundation
import Gateway
import TelltaleModel
import Testing

/// The published document, compared with the routes and with the table of errors, both ways.
struct DocumentTests {
    private static func document() throws -> JSON {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../../Protocols/HTTP/openapi.json")
        return try JSONParser.parse(String(decoding: try Data(contentsOf: url), as: UTF8.self))
    }

    @Test func `the document has every route and method, and no other`() throws {
        let paths = try #require(try Self.document()["paths"]?.object)
        #expect(Set(paths.map(\.name)) == Set(Route.allCases.map(\.rawValue)))
        for route in Route.allCases {
            let operations = try #require(paths[route.rawValue]?.object)
            #expect(Set(operations.map { $0.name.uppercased() }) == Set(route.methods), "\(route)")
        }
    }

    /// The codes of a response stand in back-quotes in its description.
    private static func codes(in text: String) -> Set<String> {
        Set(text.matches(of: /`(\w+)`/).map { String($0.1) })
    }

    private static var known: [String: Set<String>] {
        Dictionary(grouping: Problem.all) { "Problem\($0.status)" }.mapValues { Set($0.map(\.code)) }
    }

    @Test func `each status names its codes, all of them and no other`() throws {
        let responses = try #require(try Self.document()["components"]?["responses"]?.object)
        var named: [String: Set<String>] = [:]
        for response in responses {
            let text = try #require(response.value["description"]?.string)
            named[response.name] = Self.codes(in: text)
        }
        #expect(named == Self.known)
        #expect(Set(Problem.all.map(\.code)).count == Problem.all.count, "a code stands in the table twice")
    }

    @Test func `every refusal is of an operation, and an operation that asks the daemon has all of its refusals`()
        throws
    {
        let paths = try #require(try Self.document()["paths"]?.object)
        let known = Self.known
        var used: Set<Int> = []
        for path in paths {
            for operation in path.value.object ?? JSONObject() {
                let statuses = Set((operation.value["responses"]?.object ?? JSONObject()).compactMap { Int($0.name) })
                used.formUnion(statuses)
                let place = "\(operation.name) \(path.name)"
                #expect(statuses.isSuperset(of: [400, 403, 421]), "\(place)")
                for response in operation.value["responses"]?.object ?? JSONObject()
                where Int(response.name) ?? 0 >= 400 {
                    guard let text = response.value["description"]?.string else { continue }
                    #expect(Self.codes(in: text) == known["Problem\(response.name)"], "\(place) \(response.name)")
                }
                guard statuses.contains(502) else { continue }
                #expect(statuses.isSuperset(of: [401, 429, 500, 503]), "\(place)")
                guard statuses.contains(504) else { continue }
                #expect(statuses.isSuperset(of: [404, 413, 422, 507]), "\(place)")
            }
        }
        #expect(used.isSuperset(of: Set(Problem.all.map(\.status)).subtracting([405])))
    }

    @Test func `the document names every surface`() throws {
        let parameters = try #require(try Self.document()["components"]?["parameters"]?.object)
        let surfaces = Surface.allCases.map(\.rawValue)
        #expect(parameters["surface"]?["schema"]?["enum"]?.array?.compactMap(\.string) == surfaces)
        #expect(parameters["view"]?["schema"]?["enum"]?.array?.compactMap(\.string) == ["full"] + surfaces)
    }
}
