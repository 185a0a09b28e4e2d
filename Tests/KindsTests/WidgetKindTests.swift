import Foundation
import Kinds
import TelltaleModel
import Testing

/// Kinds of widgets: Protocols/Widgets/README.md. Vectors W-V are those of Protocols/Widgets/rules.md.
struct WidgetKindTests {
    private func faults(_ patch: String) throws -> [Diagnostic] {
        Kind.read(goodWidget.merging(try json(patch)), file: "a.json").diagnostics
    }

    private func widget(_ patch: String = "{}") throws -> WidgetKind {
        let (kind, faults) = Kind.read(goodWidget.merging(try json(patch)), file: "a.json")
        guard case .widget(let widget)? = kind?.body else { throw Refused(faults: faults) }
        return widget
    }

    private struct Refused: Error { let faults: [Diagnostic] }

    @Test("W-V107: a family without a view, and a name that begins with @, are errors with their place")
    func errors() throws {
        let family = try faults(#"{"families":["systemSmall","accessoryRectangular","systemLarge"]}"#)
        #expect(family.map(\.path) == ["families[2]"] && family[0].severity == .error)
        let name = try faults(#"{"kind":"@x"}"#)
        #expect(name.map(\.path) == ["kind"] && name[0].severity == .error)
    }

    @Test("W-V107: a source that no kind of activity is, and a state that it does not have, are errors")
    func sources() throws {
        func reported(_ source: String) throws -> [String] {
            let patch = #"{"parameters":null,"views":{"systemSmall":{"subtitle":null}},"source":\#(source)}"#
            let texts = [goodWidget.merging(try json(patch)), goodKind, goodButton].map { Array($0.description.utf8) }
            let names = ["widget.json", "activity.json", "button.json"]
            let (_, diagnostics) = KindSet.load(files: zip(names, texts).map { (name: $0, bytes: $1) })
            return diagnostics.filter { $0.severity == .error }.map { "\($0.file) \($0.path): \($0.message)" }
        }
        let (activity, button) = (goodKind["kind"]?.string ?? "", goodButton["kind"]?.string ?? "")
        #expect(try reported(#"{"each":"\#(activity)","where":"in(placed) or lifecycle == 'ended'"}"#) == [])
        #expect(try reported(#"{"each":"nothing"}"#) == [#"widget.json source.each: no file here defines "nothing""#])
        #expect(
            try reported(#"{"one":"\#(button)/1"}"#) == [#"widget.json source.one: "\#(button)" is no live activity"#])
        #expect(
            try reported(#"{"each":"\#(activity)","where":"in(gone)"}"#) == [
                #"widget.json source.where: "\#(activity)" has no state "gone""#
            ])
    }

    @Test("A state that a tally or a guard names is one of the machine, and kinds of aggregates are bounded")
    func aggregates() throws {
        let activity = goodKind["kind"]?.string ?? ""
        func reported(_ values: String, count: Int = 1) throws -> [String] {
            let base = goodAggregate.merging(try json(#"{"source":{"over":"\#(activity)","values":\#(values)}}"#))
            let texts = try [goodKind] + (0..<count).map { base.merging(try json(#"{"kind":"w\#($0)"}"#)) }
            let files = texts.enumerated().map { (name: "\($0).json", bytes: Array($1.description.utf8)) }
            return KindSet.load(files: files).diagnostics.filter { $0.severity == .error }.map {
                "\($0.path): \($0.message)"
            }
        }
        #expect(try reported(#"{"sold":{"on":"placed"}}"#) == [])
        #expect(
            try reported(#"{"sold":{"on":"gone"},"late":{"count":"in(lost)"}}"#) == [
                #"source.values.late.count: "\#(activity)" has no state "lost""#,
                #"source.values.sold.on: "\#(activity)" has no state "gone""#,
            ])
        #expect(try reported(#"{"sold":{"on":"placed"}}"#, count: 16) == [])
        #expect(try reported(#"{"sold":{"on":"placed"}}"#, count: 17).first?.contains("17 kinds are over") == true)
    }

    @Test("W-V108: text of 10 pt, a margin of 8 and a description that says This widget are warnings")
    func smallTexts() throws {
        let reported = try faults(
            #"{"margins":8,"description":"This widget shows sales","views":{"systemSmall":{"fontSize":10}}}"#)
        let paths = reported.filter { !$0.message.contains("passed through") }.map(\.path)
        #expect(Set(paths) == ["margins", "description", "views.systemSmall.fontSize"])
        #expect(reported.allSatisfy { $0.severity == .warning })
    }

    @Test("W-V109: four symbol buttons, or three with texts, in a watch's row are warnings", arguments: [3, 4])
    func rows(count: Int) throws {
        let buttons = (1...count).map { number -> JSON in
            count == 4 ? ["link": .string("tel:\(number)"), "symbol": "phone"] : .string("a/\(number)")
        }
        let patch: JSON = ["views": ["accessoryRectangular": ["buttons": .array(buttons)]]]
        let reported = Kind.read(goodWidget.merging(patch), file: "a.json").diagnostics
        #expect(reported.map(\.path) == ["views.accessoryRectangular.buttons"])
        #expect(reported.first?.severity == .warning)
    }

    @Test("W-V110: three buttons in systemSmall on vision, equal views and no template are warnings")
    func rooms() throws {
        let buttons = #"{"views":{"systemSmall":{"buttons":["a/1","a/2","a/3"]}}}"#
        #expect(try faults(buttons).map(\.path) == ["views.systemSmall.buttons"])
        // A kind that is never there has nothing to fear.
        let never = #","places":{"never":["horizontal","vertical"]}}"#
        #expect(try faults(buttons.dropLast() + never) == [])
        let equal =
            #"{"families":["systemSmall","accessoryRectangular","systemMedium"],"views":{"systemMedium":{"symbol":"cup","title":"{{content.sold}} sold","subtitle":"{{config.shop}}"}}}"#
        #expect(try faults(equal).map(\.path) == ["views.systemMedium"])
        #expect(
            try faults(#"{"views":{"accessoryRectangular":{"text":"Sales"}}}"#).map(\.path) == [
                "views.accessoryRectangular"
            ])
    }

    @Test func `the same configuration is the same id, in whatever order its members stand`() throws {
        let kind = try widget(#"{"parameters":{"size":{"type":"number"}}}"#)
        func id(_ text: String) throws -> String {
            let object = try #require(json(text).object)
            return WidgetParameter.id(
                of: try WidgetParameter.configuration(of: object, parameters: kind.parameters),
                parameters: kind.parameters)
        }
        #expect(try id(#"{"shop":"Hoegi","size":2}"#) == id(#"{"size":2,"shop":"Hoegi"}"#))
        #expect(try id(#"{"shop":"Hoegi","size":2}"#) != id(#"{"shop":"Hoegi","size":3}"#))
        #expect(try id(#"{"shop":"Hoegi","size":2}"#).hasPrefix("h-"))
    }

    @Test("The id of a single parameter is its value, where it can be one")
    func ids() throws {
        let kind = try widget(#"{"recommended":[{"shop":"Hoegi"},{"shop":"a b"}]}"#)
        #expect(kind.instances.first == "Hoegi")
        #expect(kind.instances.count == 2 && kind.instances[1].hasPrefix("h-"))
        #expect(kind.configuration(ofID: "Central") == ["shop": "Central"])
        #expect(kind.configuration(ofID: kind.instances[1]) == ["shop": "a b"])
        // A hash of nobody's configuration stands for none.
        #expect(kind.configuration(ofID: "h-0123456789abcdef") == nil)
        let plain = try widget(#"{"parameters":null,"views":{"systemSmall":{"subtitle":null}}}"#)
        #expect(plain.instances == ["main"])
        #expect(plain.configuration(ofID: "main") == [:] && plain.configuration(ofID: "x") == nil)
    }

    @Test("W-V88: a configuration without a parameter, and with an unknown one, are refused with its name")
    func refusals() throws {
        let kind = try widget()
        func refusal(_ text: String) throws -> String? {
            do {
                _ = try WidgetParameter.configuration(
                    of: try #require(json(text).object), parameters: kind.parameters)
                return nil
            } catch let refusal as WidgetParameter.Refusal { return refusal.name }
        }
        #expect(try refusal("{}") == "shop")
        #expect(try refusal(#"{"shop":"a","shp":"b"}"#) == "shp")
        #expect(try refusal(#"{"shop":"a"}"#) == nil)
    }

    @Test("Every shipped kind of widget loads without an error or a warning")
    func shipped() throws {
        let folder = Shipped.folder.appending(path: "widgets")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
            .map { ($0, Array(try Data(contentsOf: folder.appending(path: $0)))) }
        let (kinds, diagnostics) = KindSet.load(files: files + (try Shipped.files()))
        #expect(diagnostics == [])
        #expect(files.count >= 2)
        #expect(files.allSatisfy { kinds?[$0.0.dropLast(5)]?.source["$schema"] == "../kind.schema.json" })
    }

    // MARK: Schedules

    private func schedule(_ text: String) throws -> WidgetSchedule {
        guard case .schedule(let schedule) = try widget(#"{"source":"# + text + "}").source else {
            throw Refused(faults: [])
        }
        return schedule
    }

    @Test func `a schedule shows the newest time of day, and knows the next 24 hours`() throws {
        let hours = try schedule(
            #"{"zone":"+09:00","schedule":[{"at":"07:00","set":{"is":"open"}},{"at":"19:00","set":{"is":"closed"}}]}"#)
        // 2026-11-25 12:00 in Seoul.
        let noon = Timestamp(milliseconds: 1_795_575_600_000)
        let entries = hours.entries(at: noon)
        #expect(entries.map { $0.content["is"]?.string } == ["open", "closed", "open"])
        #expect(entries.map { ($0.date - noon).count / 3_600_000 } == [-5, 7, 19])
        // Of equal clocks the date counts as passed.
        #expect(hours.entries(at: noon + .hours(7)).first?.content["is"] == "closed")
    }

    @Test func `a slot of one day is shown until the next one, and its own dates alone are entries`() throws {
        let weekly = try schedule(#"{"schedule":[{"at":"00:00","days":["thu"],"set":{"n":1}}]}"#)
        let epoch = Timestamp(milliseconds: 0)
        #expect(weekly.entries(at: epoch).map(\.date) == [epoch])
        #expect(weekly.entries(at: epoch + .days(6)).map(\.date) == [epoch, epoch + .days(7)])
        #expect(weekly.entries(at: epoch + .hours(-1)).map(\.date.milliseconds) == [-604_800_000, 0])
    }

    @Test("More of a schedule is known at its last date, and over a gap of days a day before the next slot")
    func moreKnown() throws {
        let hours = try schedule(
            #"""
            {"zone":"+09:00","schedule":[{"at":"09:00","days":["sat"],"set":{}},{"at":"15:00","days":["sat"],"set":{}},
             {"at":"07:00","days":["mon"],"set":{}}]}
            """#)
        // Saturday 2026-11-28 08:00 in Seoul.
        let saturday = Timestamp(milliseconds: 1_795_820_400_000)
        func hour(_ count: Int64) -> Int64? {
            hours.moreKnown(after: saturday + .hours(count)).map { ($0 - saturday).count / 3_600_000 }
        }
        #expect([0, 6, 7, 8, 22, 23, 46, 47].map(hour) == [7, 7, 23, 23, 23, 47, 47, 145])
        let weekly = try schedule(#"{"schedule":[{"at":"00:00","days":["thu"],"set":{"n":1}}]}"#)
        let epoch = Timestamp(milliseconds: 0)
        #expect(weekly.moreKnown(after: epoch) == epoch + .days(6))
        #expect(weekly.moreKnown(after: epoch + .days(6)) == epoch + .days(7))
        #expect(weekly.moreKnown(after: epoch + .hours(-1)) == epoch)
    }

    @Test("No time makes a schedule trap", arguments: [Int64.min, Int64.max, -1, 1 << 60])
    func extremes(milliseconds: Int64) throws {
        let hours = try schedule(#"{"zone":"-11:30","schedule":[{"at":"07:00","set":{"is":"open"}}]}"#)
        _ = hours.entries(at: Timestamp(milliseconds: milliseconds))
        _ = hours.moreKnown(after: Timestamp(milliseconds: milliseconds))
    }
}
