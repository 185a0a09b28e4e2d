import Foundation
import Surfaces
import TelltaleModel
import TestSupport
import Testing

struct CatalogueTests {
    @Test func `Protocols/Surfaces/catalogue.json equals the server's catalogue`() throws {
        let file = repositoryRoot.appending(path: "Protocols/Surfaces/catalogue.json")
        let reported = try JSONParser.parse(try String(contentsOf: file, encoding: .utf8))
        for member in try #require(Catalogue.value.object) {
            #expect(reported[member.name] == member.value, "\(member.name)")
        }
        #expect(reported.object?.count == Catalogue.value.object?.count)
    }

    @Test func `a device is known by its name alone`() {
        #expect(Catalogue.device(named: "iphone-15-pro")?.canvas == "393x852")
        #expect(Catalogue.device(named: "carplay-wide")?.canvas == "1920x720")
        #expect(Catalogue.device(named: "iphone-15-pro")?.hasIsland == true)
        #expect(Catalogue.device(named: "iphone-14")?.hasIsland == false)
        #expect(Catalogue.device(named: "IPHONE-14") == nil)
        #expect(Set(Catalogue.devices.map(\.name)).count == Catalogue.devices.count)
    }

    @Test func `no presentation is wider than the screen that it is for`() throws {
        for area in Catalogue.areas {
            guard let screen = area.screen, let width = screen.split(separator: "x").first.flatMap({ Double($0) })
            else { continue }
            #expect(area.extent.width.upperBound <= width)
        }
        for device in Catalogue.devices { #expect(device.width > 0 && device.height > 0) }
    }
}
