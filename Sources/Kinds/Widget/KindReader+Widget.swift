internal import TelltaleModel
internal import TelltaleStatechart

// The members of a kind of widget.
extension KindReader {
    static let widgetNames = [
        "description", "families", "parameters", "recommended", "relevance", "source", "audience", "places",
        "backgroundRemovable",
        "margins",
        "mounting", "texture", "carApp", "privacySensitive", "protection", "stale", "preview", "editTint", "views",
        "suggest", "timeout", "url",
    ]
    private static let parameterLimit = 16
    private static let recommendedLimit = 256
    /// The largest sample content, in bytes of compact JSON.
    private static let previewByteLimit = 4_096

    mutating func widget(_ object: JSONObject) -> WidgetKind? {
        if object["alert"] != nil {
            error("alert", "a widget raises no alert", advice: "let an activity alert, and take it out here")
        }
        let families = widgetFamilies(object)
        let parameters = widgetParameters(object)
        let recommended = recommendedConfigurations(object, parameters: parameters)
        let source = widgetSource(object, parameters: parameters)
        let places = widgetPlaces(object)
        var options = widgetOptions(object)
        options.relevance = widgetRelevance(object, source: source)
        options.viewByteCount = object["views"]?.object?.map(\.value.textByteCount).max() ?? 0
        viewsHaveStates =
            switch source {
            case .each, .one: true
            case .pushed, .refreshed, .schedule, .over: false
            // The fault of the source is reported.
            case nil: true
            }
        let views = widgetViews(object, families: families, neverPlaces: places.never)
        lintSuggestion(options, source: source, parameters: parameters, recommended: recommended)
        lintWidget(
            templates: templates, parameters: parameters,
            source: object["source"])
        guard let families, let source, let views else { return nil }
        return WidgetKind(
            families: families, views: views, source: source, parameters: parameters, recommended: recommended,
            places: places, options: options, namedStates: namedStates)
    }

    private mutating func widgetFamilies(_ object: JSONObject) -> [WidgetFamily]? {
        guard object["families"] != nil else {
            missing("families", at: "", example: "[\"systemSmall\"]")
            return nil
        }
        guard let names = strings(object, "families", at: "", of: "families") else { return nil }
        if names.isEmpty { error("families", "there is no family in it", advice: "name one, as \"systemSmall\"") }
        return names.enumerated().compactMap { index, name in
            word(name, WidgetFamily.self, at: "families[\(index)]", what: "a widget's family")
        }
    }

    /// One of the words of `Words`; reports an error for any other.
    mutating func word<Words: RawRepresentable & CaseIterable>(
        _ text: String, _ type: Words.Type, at path: String, what: String
    ) -> Words? where Words.RawValue == String {
        if let word = Words(rawValue: text) { return word }
        let all = Words.allCases.map(\.rawValue)
        let close = Spelling.nearest(to: text, among: all)
        error(
            path, "\(quoted(text)) is not \(what)",
            advice: close.map { "did you mean \(quoted($0))?" } ?? "write \(all.joined(separator: ", "))")
        return nil
    }

    private mutating func widgetPlaces(
        _ object: JSONObject
    ) -> (never: Set<WidgetPlace>, disfavoured: Set<WidgetPlace>) {
        guard let json = object["places"],
            let places = self.object(json, at: "places", knows: ["never", "disfavoured"])
        else { return ([], []) }
        func read(_ name: String, _ reader: inout KindReader) -> Set<WidgetPlace> {
            let names = reader.strings(places, name, at: "places", of: "places") ?? []
            return Set(
                names.enumerated().compactMap { index, place in
                    reader.word(place, WidgetPlace.self, at: "places.\(name)[\(index)]", what: "a place of widgets")
                })
        }
        return (read("never", &self), read("disfavoured", &self))
    }

    private enum Protection: String, CaseIterable { case complete }
    private enum Texture: String, CaseIterable { case glass, paper }

    private mutating func widgetOptions(_ object: JSONObject) -> WidgetKind.Options {
        var options = WidgetKind.Options()
        options.isBackgroundRemovable = bool(object, "backgroundRemovable", at: "") ?? true
        options.margin = margins(object)
        let mountings = (strings(object, "mounting", at: "", of: "mountings") ?? []).enumerated().compactMap {
            index, name in
            word(name, WidgetMounting.self, at: "mounting[\(index)]", what: "a mounting")
        }
        if !mountings.isEmpty { options.mountings = Set(mountings) }
        options.texture = choice(object, "texture", at: "", Texture.self)?.rawValue ?? options.texture
        options.hasCarApp = bool(object, "carApp", at: "") ?? false
        options.isPrivacySensitive = bool(object, "privacySensitive", at: "") ?? false
        options.isProtected = choice(object, "protection", at: "", Protection.self) != nil
        options.stale = duration(object, "stale", at: "")
        options.timeout = duration(object, "timeout", at: "") ?? options.timeout
        options.isSuggested = bool(object, "suggest", at: "") ?? false
        options.url = template(object, "url", at: "")
        options.about = text(object, "description", at: "") ?? ""
        lint(description: options.about)
        options.editTint = text(object, "editTint", at: "")
        if let preview = object["preview"] {
            let known = ["attributes", "config", "content", "lifecycle", "progress", "state", "values"]
            if self.object(preview, at: "preview", knows: known) != nil { options.preview = preview }
            let byteCount = preview.textByteCount
            if byteCount > Self.previewByteLimit {
                refuse(
                    "preview", "it has \(byteCount) bytes, \(Self.previewByteLimit) are the limit",
                    advice: "shorten the sample")
            }
        }
        return options
    }

    /// W86: the gallery names the widget already.
    private mutating func lint(description: String) {
        for beginning in ["this widget", "use this widget", "add this widget"]
        where description.lowercased().hasPrefix(beginning) {
            warn(
                "description", "it begins with \(quoted(String(description.prefix(beginning.count))))",
                advice: "say what a person sees or does, as in \"See what waits at a shop\"")
        }
    }

    /// W42: a stack can only suggest what a person could place and what is relevant at some time.
    private mutating func lintSuggestion(
        _ options: WidgetKind.Options, source: WidgetKind.Source?, parameters: [WidgetParameter], recommended: [JSON]
    ) {
        guard options.isSuggested, let source else { return }
        switch source {
        case .each:
            error(
                "suggest", "widgets of single activities are not placed, so no stack suggests them",
                advice: "take it out; \"relevance\" says when they are there")
        case .one, .over, .schedule:
            if options.relevance == nil {
                warn(
                    "suggest", "the widget never matters, so it is never suggested",
                    advice: "write \"relevance\": a score, dates or a situation")
            }
        // Their timelines have scores.
        case .pushed, .refreshed: break
        }
        if !parameters.isEmpty, recommended.isEmpty {
            warn(
                "suggest", "only configurations of \"recommended\" are suggested, and there are none",
                advice: "write those that a stack may suggest")
        }
    }

    private mutating func margins(_ object: JSONObject) -> Double {
        switch object["margins"] {
        case nil: return 16
        case .string("none")?: return 0
        case let json?:
            guard let points = json.double, (0...64).contains(points) else {
                error("margins", "it is to be points from 0 to 64, or \"none\"", advice: "write 16, or \"none\"")
                return 16
            }
            if points < 11 {
                warn(
                    "margins", "content \(json) pt from the edge looks cut off",
                    advice: "write 11 or more; 16 is the standard")
            }
            return points
        }
    }

    // MARK: Parameters

    private mutating func widgetParameters(_ object: JSONObject) -> [WidgetParameter] {
        guard let json = object["parameters"] else { return [] }
        guard let all = json.object else {
            wrongType(json, at: "parameters", expected: "an object of parameters by their names")
            return []
        }
        if all.count > Self.parameterLimit {
            error(
                "parameters", "there are \(all.count), \(Self.parameterLimit) are the limit",
                advice: "take some out, or make two kinds")
        }
        return all.compactMap { parameter($0.value, named: $0.name) }
    }

    private mutating func parameter(_ json: JSON, named name: String) -> WidgetParameter? {
        let path = Self.join("parameters", name)
        let isName = name.isName(with: "_-")
        if !isName {
            error(path, "\(quoted(name)) is no parameter's name", advice: "use 1 to 64 of A-Z a-z 0-9 _ -")
        }
        guard let object = object(json, at: path, knows: ["title", "type", "options", "default"]) else { return nil }
        let type = choice(object, "type", at: path, WidgetParameter.ValueType.self) ?? .text
        let options = strings(object, "options", at: path, of: "texts") ?? []
        if type == .choice, options.isEmpty {
            missing("options", at: path, example: "[\"one\", \"two\"]")
        } else if type != .choice, !options.isEmpty {
            error(Self.join(path, "options"), "only a choice has options", advice: "write \"type\": \"choice\"")
        }
        let parameter = WidgetParameter(
            name: name, title: text(object, "title", at: path) ?? name, type: type, options: options,
            standard: object["default"])
        if let standard = object["default"], !parameter.takes(standard) {
            error(
                Self.join(path, "default"), "the parameter does not take it",
                advice: "write \(parameter.expectation)")
        }
        return isName ? parameter : nil
    }

    private mutating func recommendedConfigurations(
        _ object: JSONObject, parameters: [WidgetParameter]
    ) -> [JSON] {
        let all = array(object, "recommended", at: "", of: "configurations") ?? []
        if all.count > Self.recommendedLimit {
            error(
                "recommended", "there are \(all.count), \(Self.recommendedLimit) are the limit",
                advice: "each one is a widget that is kept up to date: take some out")
        }
        return all.enumerated().compactMap { index, json in
            let path = "recommended[\(index)]"
            guard let given = json.object else {
                wrongType(json, at: path, expected: "an object of parameters' values")
                return nil
            }
            do throws(WidgetParameter.Refusal) {
                return try WidgetParameter.configuration(of: given, parameters: parameters)
            } catch {
                self.error(
                    Self.join(path, error.name), error.reason, advice: "give each of \"parameters\" a value")
                return nil
            }
        }
    }
}
