import Simulation
import TelltaleModel

extension RunReport {
    var isScript: Bool { !scenario.setting.steps.isEmpty }

    /// The scenes of the run, each with the screens that it changed.
    var storyHTML: HTML {
        guard !outcome.story.isEmpty else { return "" }
        var before: [String: String] = [:]
        let scenes = outcome.story.map { scene -> HTML in
            var (changed, same): ([HTML], [String]) = ([], [])
            for display in scene.displays {
                let look = "\(display.isAway) " + display.rows.map { "\($0.key) \(JSON.object($0.body))" }.joined()
                if before[display.name] == look {
                    same.append(display.name)
                } else {
                    changed.append(ScreenPicture(display, at: scene.daemonTime).html)
                }
                before[display.name] = look
            }
            let action: HTML = scene.action.isEmpty ? "" : "<p class=\"deed\"><code>\(scene.action)</code></p>"
            let checks = scene.checks.map { check -> HTML in
                let caption: HTML = check.caption.isEmpty ? "" : "<b>\(check.caption)</b> "
                return check.fault.map { "<li class=\"bad\">\(caption)\(check.text): \($0)</li>" }
                    ?? "<li>\(caption)\(check.text)</li>"
            }
            let list: HTML = checks.isEmpty ? "" : "<ul class=\"checks\">\(checks.joined())</ul>"
            let unchanged: HTML =
                same.isEmpty ? "" : "<p class=\"note\">Unchanged: \(same.joined(separator: ", "))</p>"
            let title: HTML = scene.caption.isEmpty ? "" : "<h3>\(scene.caption)</h3>"
            return """
                <li><div class="when">\(HumanTime.moment(scene.time))</div><div class="scene">\(title)\(action)\(list)\
                <div class="screens">\(changed.joined())</div>\(unchanged)</div></li>

                """
        }
        return """
            <section><h2>\(isScript ? "Step by step" : "Screens on the way")</h2>
            <ol class="story">
            \(scenes.joined())</ol></section>
            """
    }
}
