extension Catalogue {
    /// The areas of live activities by surface (HIG, Live Activities, Specifications).
    public static let areas: [Area] = [
        area("island", .compact, "430x932", 62.33, 36.67),
        area("island", .compact, "393x852", 52.33, 36.67),
        area("island", .minimal, 36.67...45, 36.67...36.67),
        tall("island", .expanded, "430x932", 408),
        tall("island", .expanded, "393x852", 371),
        tall("phone", .lockScreen, "430x932", 408),
        tall("phone", .lockScreen, "393x852", 371),
        tall("pad", .lockScreen, "1366x1024", 500),
        tall("pad", .lockScreen, "1194x834", 425),
        tall("pad", .lockScreen, "1012x834", 425),
        tall("pad", .lockScreen, "1080x810", 425),
        tall("pad", .lockScreen, "1024x768", 425),
        area("carplay", .small, nil, 240, 78),
        area("carplay", .small, nil, 240, 100),
        area("carplay", .small, nil, 170, 78),
        area("watch", .small, "40mm", 152, 69.5),
        area("watch", .small, "41mm", 165, 72.5),
        area("watch", .small, "44mm", 173, 76.5),
        area("watch", .small, "45mm", 184, 80.5),
        area("watch", .small, "49mm", 191, 81.5),
        // The menu bar uses the phone's presentations and sizes.
        area("desktop", .compact, 52.33...62.33, 36.67...36.67),
        area("desktop", .minimal, 36.67...45, 36.67...36.67),
        area("desktop", .expanded, 371...408, 84...160),
        area("desktop", .lockScreen, 371...408, 84...160),
    ]

    /// Margins, smallest texts, safe zones, and limits of items in a row.
    public static let measures: [Measure] = [
        Measure(name: "island.width.pro", value: 230, unit: "pt"),
        Measure(name: "island.width.max", value: 250, unit: "pt"),
        Measure(name: "island.cornerRadius", value: 44, unit: "pt"),
        Measure(name: "lockScreen.margin", value: 14, unit: "pt"),
        Measure(name: "lockScreen.heightLimit", value: 160, unit: "pt"),
        Measure(name: "text.smallest", value: 11, unit: "pt"),
        Measure(name: "widget.margin", value: 16, unit: "pt"),
        Measure(name: "widget.marginTight", value: 11, unit: "pt"),
        Measure(name: "animation.longest", value: 2, unit: "s"),
        Measure(name: "standby.scale", value: 2, unit: "times"),
        Measure(name: "watch.symbolButtonsInRow", value: 3, unit: "count"),
        Measure(name: "watch.textButtonsInRow", value: 2, unit: "count"),
        Measure(name: "tv.inset.vertical", value: 60, unit: "px"),
        Measure(name: "tv.inset.horizontal", value: 80, unit: "px"),
        Measure(name: "tv.gap", value: 40, unit: "pt"),
        Measure(name: "tv.rowDistance", value: 100, unit: "pt"),
        Measure(name: "vision.buttonDistance", value: 60, unit: "pt"),
        Measure(name: "vision.scaleSmallest", value: 75, unit: "%"),
        Measure(name: "vision.scaleLargest", value: 125, unit: "%"),
    ]

    /// The columns of a television's grid and their unfocused width.
    public static let televisionGrid: [GridColumn] = [
        (2, 860), (3, 560), (4, 410), (5, 320), (6, 260), (7, 217), (8, 184), (9, 160),
    ].map { GridColumn(columns: $0.0, width: $0.1) }

    static func extent(_ width: Double, _ height: Double) -> Extent {
        Extent(width: width...width, height: height...height)
    }

    private static func area(
        _ place: String, _ presentation: Presentation, _ screen: String?, _ width: Double, _ height: Double
    ) -> Area {
        Area(place: place, presentation: presentation, screen: screen, extent: extent(width, height))
    }

    private static func area(
        _ place: String, _ presentation: Presentation, _ width: ClosedRange<Double>, _ height: ClosedRange<Double>
    ) -> Area {
        Area(place: place, presentation: presentation, extent: Extent(width: width, height: height))
    }

    private static func tall(
        _ place: String, _ presentation: Presentation, _ screen: String, _ width: Double
    ) -> Area {
        Area(
            place: place, presentation: presentation, screen: screen,
            extent: Extent(width: width...width, height: 84...160))
    }
}
