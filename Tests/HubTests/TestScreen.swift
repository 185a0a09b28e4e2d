import TelltaleModel
import Testing

/// A line of the server, taken apart.
struct ServerText {
    var verb: String
    var attributes: [String: String] = [:]
    var body: JSON?

    init(_ line: String) throws {
        var head = line[...]
        if let brace = line.firstRange(of: " {") {
            head = line[..<brace.lowerBound]
            body = try JSONParser.parse(String(line[line.index(after: brace.lowerBound)...]))
        }
        let words = head.split(separator: " ")
        verb = String(words[0])
        for word in words.dropFirst() {
            guard let equals = word.firstIndex(of: "=") else { continue }
            attributes[String(word[..<equals])] = String(word[word.index(after: equals)...])
        }
    }

    var key: String { attributes["key"] ?? "" }
    var rev: Int64 { attributes["rev"].flatMap { Int64($0) } ?? 0 }
}

/// A device that draws its rows: it connects, follows, keeps the rows it has, and resumes after a break.
///
/// It checks every line against the rules that hold for every device, and collects violations in `faults`.
final class TestScreen {
    struct Row {
        var rev: Int64
        var body: JSON
    }

    let surface: String
    let account: String?
    var pattern = "*"
    var traits: [String: String] = [:]
    private(set) var rows: [String: Row] = [:]
    /// Every alert, as `key rev`, in the order of arrival.
    private(set) var alerts: [String] = []
    private(set) var styles: [String] = []
    private(set) var deletions: [String] = []
    private(set) var faults: [String] = []
    private(set) var cursor: String?
    private(set) var client: HubHarness.Client?
    private var flashed: Set<String> = []
    /// Rows since the last `SUB`, while its snapshot or its resume is under way.
    private var snapshot: Set<String>?
    private var isReset = false
    private var isLive = false
    private let harness: HubHarness

    init(_ surface: String, account: String?, in harness: HubHarness) {
        self.surface = surface
        self.account = account
        self.harness = harness
    }

    /// Connects, sends its account and situation, and follows everything; resumes if it has a cursor.
    @discardableResult
    func connect(fresh: Bool = false) throws -> TestScreen {
        let client = harness.connect()
        self.client = client
        harness.send("HELLO surface=\(surface)" + (account.map { " account=\($0)" } ?? ""), from: client)
        for (name, value) in traits.sorted(by: { $0.key < $1.key }) {
            harness.send("TRAIT \(name)=\(value)", from: client)
        }
        if fresh { cursor = nil }
        if cursor == nil { rows = [:] }
        snapshot = []
        isReset = cursor == nil
        isLive = false
        harness.post("SUB \(pattern)" + (cursor.map { " from=\($0)" } ?? ""), from: client)
        harness.turn()
        try view()
        return self
    }

    func disconnect() {
        if let client { harness.disconnect(client) }
        client = nil
    }

    /// The server is gone, and with it the connection.
    func lose() { client = nil }

    func say(_ line: String) throws {
        guard let client else { return }
        harness.post(line, from: client)
        harness.turn()
        try view()
    }

    func set(_ name: String, to value: String) throws {
        traits[name] = value
        try say("TRAIT \(name)=\(value)")
    }

    /// Reads the lines that have arrived.
    func view() throws {
        guard let client else { return }
        for line in harness.lines(of: client) { try showLine(try ServerText(line)) }
    }

    private func showLine(_ line: ServerText) throws {
        if let reported = line.attributes["cur"] { cursor = reported }
        let key = line.key
        switch line.verb {
        case "SNAP", "UPD": show(line)
        case "DEL":
            deletions.append("\(key) \(line.attributes["why"] ?? "")")
            if rows.removeValue(forKey: key) == nil, isLive { faults.append("DEL of \(key), which it never had") }
        case "LIVE":
            if isReset { for key in rows.keys where snapshot?.contains(key) != true { rows[key] = nil } }
            snapshot = nil
            isLive = true
        case "RESET": isReset = true
        case "ALERT":
            let alert = "\(key) \(line.rev)"
            if alerts.contains(alert) { faults.append("alerted twice of \(alert)") }
            alerts.append(alert)
            styles.append(line.body?["style"]?.string ?? "")
        default: break
        }
    }

    private func show(_ line: ServerText) {
        let (key, body) = (line.key, line.body ?? .null)
        let isComing = snapshot?.insert(key).inserted
        if isComing == false { faults.append("\(key) twice in one snapshot") }
        if let old = rows[key] {
            if line.rev < old.rev { faults.append("\(key) went back to \(line.rev) from \(old.rev)") }
            if isLive, line.rev == old.rev, Self.atRest(body) == Self.atRest(old.body) {
                faults.append("\(key) came again at \(line.rev), and looks the same")
            }
        }
        if Self.atRest(body) != body, !flashed.insert("\(key) \(line.rev)").inserted {
            faults.append("\(key) drew the eye twice at \(line.rev)")
        }
        let isEnded = body["lifecycle"]?.string == "ended"
        if isEnded, surface == "carplay" { faults.append("\(key) is ended and on CarPlay") }
        if isEnded, body["island"] != nil { faults.append("\(key) is ended and on the island") }
        if surface == "carplay", body["interactive"] != .bool(false) { faults.append("\(key) can be tapped in a car") }
        rows[key] = Row(rev: line.rev, body: body)
    }

    /// Its rows at rest, sorted: two devices of one account in one situation have the same.
    var picture: [String] {
        rows.map { "\($0.key) \($0.value.rev) \(Self.atRest($0.value.body))" }.sorted()
    }

    func presentation(of key: String) -> String? { rows[key]?.body["presentation"]?.string }
    func order(of key: String) -> Int64? { rows[key]?.body["order"]?.integer }
    subscript(key: String) -> JSON? { rows[key]?.body }

    /// The row without the views of an alert.
    static func atRest(_ body: JSON) -> JSON {
        guard let object = body.object else { return body }
        var rest = JSONObject()
        for member in object where !["banner", "expanded", "highlighted"].contains(member.name) {
            rest[member.name] = member.name == "lockScreen" ? atRest(member.value) : member.value
        }
        return .object(rest)
    }
}

extension HubHarness {
    static let kindsOfSurfaces = [coffee, errand, taxi]

    /// Another app, without a small family.
    static let errand = """
        {"kind":"errand","type":"activity","version":1,"app":"com.example.errands","title":"Errand","maxActive":"2h",
         "machine":{"initial":"open","on":{"call":"open"},"states":{"open":{"title":"Open","on":{"finish":"done"}},
                    "done":{"type":"final"}}},
         "views":{"compact":{"leading":{"symbol":"bag"},"trailing":{"text":"{{attributes.what}}"}},
                  "minimal":{"symbol":"bag","text":"{{attributes.what}}"},
                  "lockScreen":{"title":"{{attributes.what}}","subtitle":"{{state.title}}","timer":"{{content.eta}}"}},
         "url":"https://example.com/errands/{{id}}"}
        """
    /// A third, with alerts of its own.
    static let taxi = """
        {"kind":"taxi","type":"activity","version":1,"app":"com.example.taxi","title":"Taxi","stale":"10m",
         "supplementalFamilies":["small"],"dismiss":"30m",
         "machine":{"initial":"called","states":{"called":{"on":{"near":"near"}},
            "near":{"alert":{"title":"Near","body":"Go down"},"on":{"near":{"target":"near","reenter":true},"arrive":"there"}},
            "there":{"type":"final","alert":{"title":"There","body":"It waits"}}}},
         "views":{"small":{"title":"{{state.title}}","text":"{{content.driver}}","private":["text"],"summary":"A taxi",
                    "variants":[{"when":{"state":"near"},"set":{"private":["title"],"summary":null}},
                      {"when":{"appearance":"dark"},"set":{"tint":"white"}}]},
                  "compact":{"leading":{"text":"{{content.driver}}"},"private":["leading.text"]}}}
        """

    /// Posts an event, and gives its reply.
    @discardableResult
    func event(_ key: String, _ words: String, from client: Client) throws -> ServerText {
        try ServerText(try #require(send("EVT \(key) \(words)", from: client).last))
    }
}

/// Tests of the devices of an account, through the hub.
protocol SurfaceSuite {
    var harness: HubHarness { get }
}

extension SurfaceSuite {
    /// A connected device.
    func screen(_ surface: String, _ account: String? = "alice") throws -> TestScreen {
        try TestScreen(surface, account: account, in: harness).connect()
    }

    /// Reads the lines that have arrived at each device, and expects no faults.
    func view(_ screens: TestScreen...) throws {
        for screen in screens {
            try screen.view()
            #expect(screen.faults == [])
        }
    }
}
