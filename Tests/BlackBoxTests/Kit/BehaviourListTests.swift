import Foundation
import Testing

/// The list of behaviours and the tests of the library for apps name the same ids.
struct BehaviourListTests {
    @Test func `each behaviour has a test, and each test a behaviour`() throws {
        let page = try String(
            contentsOf: repository.appending(path: "Protocols/Clients/behaviours.md"), encoding: .utf8)
        let listed = page.matches(of: /(?m)^\| `([a-z-]+)` \|/).map { String($0.output.1) }
        #expect(listed.count == 27 && Set(listed).count == listed.count)
        var tested: Set<String> = []
        for folder in ["Tests/KitTests", "Tests/BlackBoxTests/Kit"] {
            let folder = repository.appending(path: folder)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
            where name.hasSuffix("Tests.swift") {
                let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                for match in text.matches(of: /\.behaviour\("([a-z-]+)"\)/) { tested.insert(String(match.output.1)) }
            }
        }
        #expect(tested.subtracting(listed) == [], "ids that the list does not have")
        #expect(Set(listed).subtracting(tested) == [], "behaviours without a test")
    }
}
