public import TelltaleModel

extension Catalogue {
    /// The whole catalogue as one JSON value, which `telltale surfaces --json` prints.
    public static var value: JSON {
        [
            "areas": .array(areas.map(\.value)),
            "devices": .array(devices.map(\.value)),
            "families": .array(
                families.map {
                    [
                        "family": .string($0.family), "platform": .string($0.platform),
                        "places": .array($0.places.map { .string($0) }),
                    ]
                }),
            "measures": .array(
                measures.map { ["name": .string($0.name), "value": JSON($0.value), "unit": .string($0.unit)] }),
            "splitView": splitView,
            "televisionGrid": .array(
                televisionGrid.map { ["columns": .integer(Int64($0.columns)), "width": .integer(Int64($0.width))] }),
            "textLimits": textLimits,
            "widgets": .array(widgetSizes.map(\.value)),
        ]
    }

    /// The width class of a pad's window in Split View; its height class is always regular.
    private static var splitView: JSON {
        func classes(_ pad: String, halfLandscape: String) -> JSON {
            [
                "pads": .string(pad), "twoThirdsPortrait": "compact", "twoThirdsLandscape": "regular",
                "halfLandscape": .string(halfLandscape), "third": "compact",
            ]
        }
        return [
            classes("12.9-inch", halfLandscape: "regular"),
            classes("11-inch, 10.5-inch, 9.7-inch, mini", halfLandscape: "compact"),
        ]
    }

    private static var textLimits: JSON {
        var limits: [JSON] = []
        for surface in Surface.allCases where surface != .vision {
            for presentation in Presentation.allCases {
                let isJoined = presentation == .compact && (surface == .watch || surface == .carplay)
                limits.append([
                    "surface": .string(surface.rawValue), "presentation": .string(presentation.rawValue),
                    "characters": .integer(Int64(textLimit(presentation, on: surface, isJoined: isJoined))),
                ])
            }
        }
        return .array(limits)
    }
}

extension Catalogue.Device {
    public var value: JSON {
        var object = JSONObject()
        object["name"] = .string(name)
        object["surface"] = .string(surface.rawValue)
        object["width"] = .integer(Int64(width))
        object["height"] = .integer(Int64(height))
        object["scale"] = .integer(Int64(scale))
        object["canvas"] = .string(canvas)
        if hasIsland { object["island"] = true }
        if let sizeClasses {
            object["portrait"] = [
                .string(sizeClasses.portraitWidth.rawValue), .string(sizeClasses.portraitHeight.rawValue),
            ]
            object["landscape"] = [
                .string(sizeClasses.landscapeWidth.rawValue), .string(sizeClasses.landscapeHeight.rawValue),
            ]
        }
        return .object(object)
    }
}

extension Catalogue.Extent {
    /// A length is a number, or an array of the smallest and the largest.
    public var value: JSON { ["width": Self.length(width), "height": Self.length(height)] }

    private static func length(_ range: ClosedRange<Double>) -> JSON {
        range.lowerBound == range.upperBound
            ? JSON(range.lowerBound) : [JSON(range.lowerBound), JSON(range.upperBound)]
    }
}

extension Catalogue.Area {
    public var value: JSON {
        var object = JSONObject()
        object["place"] = .string(place)
        object["presentation"] = .string(presentation.rawValue)
        object["size"] = extent.value
        if let screen { object["screen"] = .string(screen) }
        return .object(object)
    }
}

extension Catalogue.WidgetSize {
    public var value: JSON {
        var object = JSONObject()
        object["platform"] = .string(platform)
        object["family"] = .string(family)
        object["size"] = extent.value
        if !screens.isEmpty { object["screens"] = .array(screens.map { .string($0) }) }
        if let device { object["device"] = device.value }
        if let millimetres { object["millimetres"] = millimetres.value }
        return .object(object)
    }
}
