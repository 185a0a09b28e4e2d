import ArgumentParser
import Glibc
import Kinds
import TelltaleModel
import ToolSupport

/// `telltale kinds new`.
struct KindsNewCommand: ParsableCommand {
    enum KindType: String, ExpressibleByArgument, CaseIterable {
        case activity, toggle, button, widget
    }

    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Print a kind file to begin from.",
        discussion: """
            The file is without a fault, and small: change what it says, and have it checked.

              telltale kinds new table-order >kinds/table-order.json
              telltale kinds check kinds
            """)

    @Argument(help: "The kind's name, as in its keys.") var name: String
    @Option(help: "activity, toggle, button or widget.") var type = KindType.activity
    @Option(help: ArgumentHelp("The app that owns it.", valueName: "com.example.app")) var app = "com.example.app"

    func validate() throws {
        guard Key.isSegment(name.utf8) else {
            throw ValidationError("NAME is to be 1 to 64 of [A-Za-z0-9._~:@-], not '\(name)'.")
        }
        try WireValue.check("--app", app)
    }

    func run() throws {
        let title = name.split(separator: "-").joined(separator: " ")
        let text = Self.template(type)
            .replacing("NAME", with: name).replacing("APP", with: app)
            .replacing("TITLE", with: title.prefix(1).uppercased() + title.dropFirst())
        Output.write(text)
    }

    private static func template(_ type: KindType) -> String {
        switch type {
        case .activity:
            """
            {
              "kind": "NAME", "type": "activity", "version": 1, "app": "APP", "title": "TITLE",
              "stale": "10m",
              "machine": {
                "initial": "placed",
                "states": {
                  "placed": { "title": "Placed", "progress": 0, "on": { "confirmed": "underWay", "cancelled": "cancelled" } },
                  "underWay": {
                    "title": "Under way", "progress": 0.5,
                    "on": { "finished": "done", "cancelled": "cancelled" },
                    "after": { "30m": "late" }
                  },
                  "late": { "title": "Later than usual", "on": { "finished": "done", "cancelled": "cancelled" } },
                  "done": {
                    "type": "final", "title": "Done", "progress": 1, "milestone": true,
                    "alert": { "title": "TITLE", "body": "Done" }
                  },
                  "cancelled": { "type": "final", "title": "Cancelled" }
                }
              },
              "views": {
                "compact": { "leading": { "symbol": "circle" }, "trailing": { "text": "{{state.title}}" } },
                "minimal": { "symbol": "circle" },
                "lockScreen": { "title": "TITLE", "subtitle": "{{state.title}}", "progress": true },
                "expanded": { "bottom": { "text": "{{state.title}}", "progress": true } }
              }
            }

            """
        case .toggle:
            """
            {
              "kind": "NAME", "type": "toggle", "version": 1, "app": "APP", "title": "TITLE",
              "symbol": { "on": "lightbulb.fill", "off": "lightbulb" }
            }

            """
        case .button:
            """
            {
              "kind": "NAME", "type": "button", "version": 1, "app": "APP", "title": "TITLE", "symbol": "hand.tap"
            }

            """
        case .widget:
            """
            {
              "kind": "NAME", "type": "widget", "version": 1, "app": "APP", "title": "TITLE",
              "description": "See how it goes",
              "families": ["systemSmall", "accessoryRectangular"],
              "stale": "1h",
              "views": {
                "systemSmall": { "symbol": "chart.bar", "title": "{{content.value}}", "subtitle": "TITLE" },
                "accessoryRectangular": { "title": "TITLE", "text": "{{content.value}}" }
              },
              "preview": { "content": { "value": "42" } }
            }

            """
        }
    }
}
