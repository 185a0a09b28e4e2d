import TelltaleModel

/// A scene of a run: one thing that happened, and the screens after it.
public struct StoryScene: Sendable {
    /// An expectation of the scenario.
    public struct Check: Sendable {
        public var text: String
        /// The step's own caption; empty where it has none.
        public var caption = ""
        /// How it was not met; `nil` where it was.
        public var fault: String?
    }

    /// Milliseconds of the scenario's time at which the scene began.
    public var time: Int64
    public var caption: String
    /// The request, as the scenario has it; empty where the scene is a moment of a crowd, or a caption alone.
    public var action: String
    public var checks: [Check] = []
    /// The screens before the next scene began.
    public var displays: [Glimpse.Display] = []
    /// Unix milliseconds of the daemon's clock at which the screens showed that.
    public var daemonTime: Int64 = 0
}

extension Glimpse {
    /// The rows of one screen that a picture has room for.
    private static func rowLimit(_ view: ViewName) -> Int {
        switch view {
        case .full: 6
        case .surface(.carplay), .surface(.desktop): 4
        case .surface: 3
        }
    }

    /// This moment of a crowd.
    func scene(_ caption: String) -> StoryScene {
        var scene = StoryScene(time: time, caption: caption, action: "")
        scene.displays = displays(limit: 6, rowLimit: Self.rowLimit)
        scene.daemonTime = daemonTime
        return scene
    }
}

extension ScriptRunner {
    /// Notes the beginning of a step. An expectation belongs to the scene of the step before it, unless it comes later by the
    /// script: then it waits for something, and is a scene of its own.
    func narrate(_ step: ScriptStep) {
        if case .expect = step.action, !scenes.isEmpty, next > 0, step.at == world.setting.steps[next - 1].at { return }
        closeScene()
        scenes.append(StoryScene(time: world.now, caption: step.text ?? "", action: step.action.story))
        isSceneOpen = true
    }

    func narrate(_ check: StoryScene.Check) {
        guard !scenes.isEmpty else { return }
        scenes[scenes.count - 1].checks.append(check)
    }

    /// Keeps what the screens show at this moment as the end of the scene.
    func closeScene() {
        guard isSceneOpen else { return }
        isSceneOpen = false
        let last = scenes.count - 1
        scenes[last].daemonTime = world.daemonTime
        scenes[last].displays = world.setting.screens.compactMap { screens[$0.name] }.map { screen in
            var display = screen.display(limit: 8)
            for index in display.rows.indices {
                display.rows[index].key = world.setting.untagged(display.rows[index].key)
                let body = world.setting.untagged(.object(display.rows[index].body))
                display.rows[index].body = body.object ?? JSONObject()
            }
            return display
        }
    }
}

extension ScriptStep.Action {
    /// The action in the words of its file.
    fileprivate var story: String {
        switch self {
        case .post(let key, let event, let accounts, let tail):
            let audience = accounts.isEmpty ? "" : " for \(accounts.joined(separator: ", "))"
            return "post \(event) \(key)\(audience)" + (tail.isEmpty ? "" : " \(JSON.object(tail))")
        case .set(let key, let isOn, let screen): return "set \(key) \(isOn ? "on" : "off"), on \(screen)"
        case .press(let key, let screen): return "press \(key), on \(screen)"
        case .open(let key, let screen): return "open \(key), on \(screen)"
        case .dismiss(let key, let screen): return "dismiss \(key), on \(screen)"
        case .tile(let tile, let screen):
            return "\(tile.line()), on \(screen)"
        case .connection(let isLost, let screen): return "\(screen) \(isLost ? "loses its connection" : "comes back")"
        case .traits(let traits, let screen): return "\(traits.joined(separator: " ")), of \(screen)"
        case .expect, .say: return ""
        }
    }
}

extension Setting {
    /// A text of the daemon without the suffix of this run's names.
    func untagged(_ text: String) -> String { tag.isEmpty ? text : text.replacing("~\(tag)", with: "") }

    func untagged(_ json: JSON) -> JSON { tag.isEmpty ? json : json.mappingTexts { .string(untagged($0)) } }
}
