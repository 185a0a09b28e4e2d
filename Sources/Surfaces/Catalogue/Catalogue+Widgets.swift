extension Catalogue {
    /// The places of each widget family (HIG, Widgets).
    public static let families: [FamilyPlaces] = {
        let desktop = ["desktop", "notificationCenter"]
        let wrist = ["complications", "smartStack"]
        return [
            places("systemSmall", "phone", ["home", "today", "standby", "carplay"]),
            places("systemSmall", "pad", ["home", "today", "lockScreen"]),
            places("systemSmall", "desktop", desktop),
            places("systemSmall", "vision", ["horizontal", "vertical"]),
            places("systemMedium", "phone", ["home", "today"]),
            places("systemMedium", "pad", ["home", "today"]),
            places("systemMedium", "desktop", desktop),
            places("systemMedium", "vision", ["horizontal", "vertical"]),
            places("systemLarge", "phone", ["home", "today"]),
            places("systemLarge", "pad", ["home", "today"]),
            places("systemLarge", "desktop", desktop),
            places("systemLarge", "vision", ["horizontal", "vertical"]),
            places("systemExtraLarge", "pad", ["home", "today"]),
            places("systemExtraLarge", "desktop", desktop),
            places("systemExtraLarge", "vision", ["horizontal", "vertical"]),
            places("systemExtraLargePortrait", "vision", ["horizontal", "vertical"]),
            places("accessoryCircular", "phone", ["lockScreen"]),
            places("accessoryCircular", "pad", ["lockScreen"]),
            places("accessoryCircular", "watch", wrist),
            places("accessoryCorner", "watch", ["complications"]),
            places("accessoryRectangular", "phone", ["lockScreen"]),
            places("accessoryRectangular", "pad", ["lockScreen"]),
            places("accessoryRectangular", "watch", wrist),
            places("accessoryInline", "phone", ["lockScreen"]),
            places("accessoryInline", "pad", ["lockScreen"]),
            places("accessoryInline", "watch", ["complications"]),
        ]
    }()

    public static let widgetSizes: [WidgetSize] = phoneWidgets + padWidgets + visionWidgets

    // swift-format-ignore
    private static let phoneWidgets: [WidgetSize] = [
        onPhones(["430x932", "428x926"], (170, 170), (364, 170), (364, 382), (76, 76), (172, 76), (257, 26)),
        onPhones(["414x896"],            (169, 169), (360, 169), (360, 379), (76, 76), (160, 72), (248, 26)),
        onPhones(["414x736"],            (159, 159), (348, 157), (348, 357), (76, 76), (170, 76), (248, 26)),
        onPhones(["393x852", "390x844"], (158, 158), (338, 158), (338, 354), (72, 72), (160, 72), (234, 26)),
        onPhones(["375x812", "360x780"], (155, 155), (329, 155), (329, 345), (72, 72), (157, 72), (225, 26)),
        onPhones(["375x667"],            (148, 148), (321, 148), (321, 324), (68, 68), (153, 68), (225, 26)),
        onPhones(["320x568"],            (141, 141), (292, 141), (292, 311), nil, nil, nil),
    ].flatMap { $0 }

    // A pad draws on the canvas and scales it to the device. The last row but two and the last row are those of Display
    // Zoom.
    // swift-format-ignore
    private static let padWidgets: [WidgetSize] = [
        onPads(["768x1024", "744x1133"], [(141, 141, 120, 120), (305.5, 141, 260, 120), (305.5, 305.5, 260, 260), (634.5, 305.5, 540, 260)]),
        onPads(["810x1080"],             [(146, 146, 124, 124), (320.5, 146, 272, 124), (320.5, 320.5, 272, 272), (669, 320.5, 568, 272)]),
        onPads(["820x1180", "834x1194"], [(155, 155, 136, 136), (342, 155, 300, 136), (342, 342, 300, 300), (715.5, 342, 628, 300)]),
        onPads(["834x1112"],             [(150, 150, 132, 132), (327.5, 150, 288, 132), (327.5, 327.5, 288, 288), (682, 327.5, 600, 288)]),
        onPads(["954x1373", "970x1389"], [(162, 162, 162, 162), (350, 162, 350, 162), (350, 350, 350, 350), (726, 350, 726, 350)]),
        onPads(["1024x1366"],            [(170, 170, 160, 160), (378.5, 170, 356, 160), (378.5, 378.5, 356, 356), (795, 378.5, 748, 356)]),
        onPads(["1192x1590"],            [(188, 188, 188, 188), (412, 188, 412, 188), (412, 412, 412, 412), (860, 412, 860, 412)]),
    ].flatMap { $0 }

    // swift-format-ignore
    private static let visionWidgets: [WidgetSize] = [
        onVision("systemSmall",              158, 158, 268, 268),
        onVision("systemMedium",             338, 158, 574, 268),
        onVision("systemLarge",              338, 354, 574, 600),
        onVision("systemExtraLarge",         450, 338, 763, 574),
        onVision("systemExtraLargePortrait", 338, 450, 574, 763),
    ]

    private typealias Size = (Double, Double)

    private static func places(_ family: String, _ platform: String, _ places: [String]) -> FamilyPlaces {
        FamilyPlaces(family: family, platform: platform, places: places)
    }

    private static func onPhones(
        _ screens: [String], _ small: Size, _ medium: Size, _ large: Size, _ circular: Size?, _ rectangular: Size?,
        _ inline: Size?
    ) -> [WidgetSize] {
        let sizes: [(String, Size?)] = [
            ("systemSmall", small), ("systemMedium", medium), ("systemLarge", large), ("accessoryCircular", circular),
            ("accessoryRectangular", rectangular), ("accessoryInline", inline),
        ]
        return sizes.compactMap { family, size in
            size.map { WidgetSize(platform: "phone", screens: screens, family: family, extent: extent($0.0, $0.1)) }
        }
    }

    private static func onPads(
        _ screens: [String], _ sizes: [(Double, Double, Double, Double)]
    ) -> [WidgetSize] {
        zip(["systemSmall", "systemMedium", "systemLarge", "systemExtraLarge"], sizes).map { family, size in
            WidgetSize(
                platform: "pad", screens: screens, family: family, extent: extent(size.0, size.1),
                device: extent(size.2, size.3))
        }
    }

    private static func onVision(
        _ family: String, _ width: Double, _ height: Double, _ wide: Double, _ high: Double
    ) -> WidgetSize {
        WidgetSize(
            platform: "vision", screens: [], family: family, extent: extent(width, height),
            millimetres: extent(wide, high))
    }
}
