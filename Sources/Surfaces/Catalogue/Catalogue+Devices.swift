internal import TelltaleModel

extension Catalogue {
    public static let devices: [Device] = [
        phone("iphone-15-pro-max", 430, 932, island: true, wide: true),
        phone("iphone-15-pro", 393, 852, island: true),
        phone("iphone-15-plus", 430, 932, island: true, wide: true),
        phone("iphone-15", 393, 852, island: true),
        phone("iphone-14-pro-max", 430, 932, island: true, wide: true),
        phone("iphone-14-pro", 393, 852, island: true),
        phone("iphone-14-plus", 428, 926, wide: true),
        phone("iphone-14", 390, 844),
        phone("iphone-13-pro-max", 428, 926, wide: true),
        phone("iphone-13-pro", 390, 844),
        phone("iphone-13", 390, 844),
        phone("iphone-13-mini", 375, 812),
        phone("iphone-12-pro-max", 428, 926, wide: true),
        phone("iphone-12-pro", 390, 844),
        phone("iphone-12", 390, 844),
        phone("iphone-12-mini", 375, 812),
        phone("iphone-11-pro-max", 414, 896, wide: true),
        phone("iphone-11-pro", 375, 812),
        phone("iphone-11", 414, 896, scale: 2, wide: true),
        phone("iphone-xs-max", 414, 896, wide: true),
        phone("iphone-xs", 375, 812),
        phone("iphone-xr", 414, 896, scale: 2, wide: true),
        phone("iphone-x", 375, 812),
        phone("iphone-8-plus", 414, 736, wide: true),
        phone("iphone-8", 375, 667, scale: 2),
        phone("iphone-se-4.7", 375, 667, scale: 2),
        phone("iphone-se-4", 320, 568, scale: 2),

        pad("ipad-pro-12.9", 1024, 1366),
        pad("ipad-pro-11", 834, 1194),
        pad("ipad-pro-10.5", 834, 1112),
        pad("ipad-air-10.9", 820, 1180),
        pad("ipad-10.2", 810, 1080),
        pad("ipad-9.7", 768, 1024),
        pad("ipad-mini-8.3", 744, 1133),

        // Watch screens are published in pixels, at two per point.
        watch("watch-49mm", 205, 251),
        watch("watch-45mm", 198, 242),
        watch("watch-44mm", 184, 224),
        watch("watch-42mm", 156, 195),
        watch("watch-41mm", 176, 215),
        watch("watch-40mm", 162, 197),
        watch("watch-38mm", 136, 170),

        // The screens that CarPlay apps should be tested with.
        carPlay("carplay-wide", 1920, 720),
        carPlay("carplay-portrait", 900, 1200),
        carPlay("carplay-standard", 800, 480),
    ]

    private static func phone(
        _ name: String, _ width: Int, _ height: Int, scale: Int = 3, island: Bool = false, wide: Bool = false
    ) -> Device {
        Device(
            name: name, surface: .phone, width: width, height: height, scale: scale, hasIsland: island,
            sizeClasses: SizeClasses(
                portraitWidth: .compact, portraitHeight: .regular, landscapeWidth: wide ? .regular : .compact,
                landscapeHeight: .compact))
    }

    private static func pad(_ name: String, _ width: Int, _ height: Int) -> Device {
        Device(
            name: name, surface: .pad, width: width, height: height, scale: 2, hasIsland: false,
            sizeClasses: SizeClasses(
                portraitWidth: .regular, portraitHeight: .regular, landscapeWidth: .regular,
                landscapeHeight: .regular))
    }

    private static func watch(_ name: String, _ width: Int, _ height: Int) -> Device {
        Device(name: name, surface: .watch, width: width, height: height, scale: 2, hasIsland: false)
    }

    private static func carPlay(_ name: String, _ width: Int, _ height: Int) -> Device {
        Device(name: name, surface: .carplay, width: width, height: height, scale: 1, hasIsland: false)
    }
}
