internal import Crypto

/// The board: the page that the gateway serves to browsers, and what belongs to it. All of it is inside the program.
public enum Board {
    /// Changes with any file, and stands in the paths of all of them but the page: a browser may keep those for good.
    public static let version: String = {
        var hash = SHA256()
        for source in sources {
            hash.update(data: Array(source.name.utf8))
            hash.update(data: source.bytes)
        }
        return BoardFile.hex(hash.finalize().prefix(6))
    }()

    /// The one page, which draws what its path names.
    public static let page = makePage(pushes: nil)
    /// The same with a link to the pushes that came in.
    public static let pageWithReceived = makePage(pushes: "/pushes")
    /// The same with a link to the pushes that went out.
    public static let pageWithSent = makePage(pushes: "/sent")

    private static func makePage(pushes path: String?) -> BoardFile {
        let link = path.map { "<a href=\"\($0)\">Pushes</a>" } ?? ""
        let text = String(decoding: PackageResources.page_html, as: UTF8.self)
            .replacing("VERSION", with: version).replacing("PUSHES", with: link)
        return BoardFile(type: "text/html; charset=utf-8", bytes: Array(text.utf8))
    }

    /// The other files, by their names.
    public static let files: [String: BoardFile] = Dictionary(
        uniqueKeysWithValues: sources.map { ($0.name, BoardFile(type: $0.type, bytes: $0.bytes)) })

    /// The page may load nothing from elsewhere, and runs no script and no style that stands in its markup.
    public static let contentSecurityPolicy =
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

    private static let script = "text/javascript; charset=utf-8"
    private static let style = "text/css; charset=utf-8"

    private static let sources: [(name: String, type: String, bytes: [UInt8])] = [
        ("icon.svg", "image/svg+xml", PackageResources.icon_svg),
        ("base.css", style, PackageResources.base_css),
        ("board.css", style, PackageResources.board_css),
        ("devices.css", style, PackageResources.devices_css),
        ("diagram.css", style, PackageResources.diagram_css),
        ("playground.css", style, PackageResources.playground_css),
        ("views.css", style, PackageResources.views_css),
        ("api.js", script, PackageResources.api_js),
        ("arrange.js", script, PackageResources.arrange_js),
        ("board.js", script, PackageResources.board_js),
        ("boards.js", script, PackageResources.boards_js),
        ("cards.js", script, PackageResources.cards_js),
        ("clock.js", script, PackageResources.clock_js),
        ("controls.js", script, PackageResources.controls_js),
        ("devices.js", script, PackageResources.devices_js),
        ("diagram.js", script, PackageResources.diagram_js),
        ("dom.js", script, PackageResources.dom_js),
        ("editor.js", script, PackageResources.editor_js),
        ("events.js", script, PackageResources.events_js),
        ("examples.js", script, PackageResources.examples_js),
        ("home.js", script, PackageResources.home_js),
        ("icons.js", script, PackageResources.icons_js),
        ("kinds.js", script, PackageResources.kinds_js),
        ("link.js", script, PackageResources.link_js),
        ("machine.js", script, PackageResources.machine_js),
        ("main.js", script, PackageResources.main_js),
        ("picker.js", script, PackageResources.picker_js),
        ("places.js", script, PackageResources.places_js),
        ("playground.js", script, PackageResources.playground_js),
        ("screens.js", script, PackageResources.screens_js),
        ("share.js", script, PackageResources.share_js),
        ("signin.js", script, PackageResources.signin_js),
        ("symbols.js", script, PackageResources.symbols_js),
        ("timeline.js", script, PackageResources.timeline_js),
        ("trial.js", script, PackageResources.trial_js),
        ("views.js", script, PackageResources.views_js),
        ("wall.js", script, PackageResources.wall_js),
        ("widgets.js", script, PackageResources.widgets_js),
        ("bistro-order.json", "application/json", PackageResources.bistro_order_json),
        ("cancel-order.json", "application/json", PackageResources.cancel_order_json),
        ("coffee-order.json", "application/json", PackageResources.coffee_order_json),
        ("coffee-tip.json", "application/json", PackageResources.coffee_tip_json),
        ("flight.json", "application/json", PackageResources.flight_json),
        ("leave-at-door.json", "application/json", PackageResources.leave_at_door_json),
        ("log-coffee.json", "application/json", PackageResources.log_coffee_json),
        ("parcel.json", "application/json", PackageResources.parcel_json),
        ("porch-light.json", "application/json", PackageResources.porch_light_json),
        ("store-open.json", "application/json", PackageResources.store_open_json),
    ]
}
