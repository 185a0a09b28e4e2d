// swift-tools-version: 6.3

import PackageDescription

// The settings of the daemon's package, but for strict memory safety's warnings about the dependencies' own pointers.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
]

let client: Target.Dependency = .product(name: "TelltaleClient", package: "telltale")
let kinds: Target.Dependency = .product(name: "TelltaleKinds", package: "telltale")
let push: Target.Dependency = .product(name: "TelltalePush", package: "telltale")
let exposition: Target.Dependency = .product(name: "TelltaleMetrics", package: "telltale")
let sqlite: Target.Dependency = .product(name: "TelltaleSQLite", package: "telltale")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let crypto: Target.Dependency = .product(name: "TelltaleCrypto", package: "telltale")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP2: Target.Dependency = .product(name: "NIOHTTPTypesHTTP2", package: "swift-nio-extras")
let nioExtras: Target.Dependency = .product(name: "NIOExtras", package: "swift-nio-extras")
let nioHTTP2: Target.Dependency = .product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK: Target.Dependency = .product(name: "NIOHPACK", package: "swift-nio-http2")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let hummingbirdHTTP2: Target.Dependency = .product(name: "HummingbirdHTTP2", package: "hummingbird")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

// The Swift runtime within the program, as in the package of the daemon.
let withFoundationInside: [LinkerSetting] = [
    .unsafeFlags(
        ["-static-stdlib", "-lCoreFoundation", "-l_FoundationICU", "-l_FoundationCollections", "-l_FoundationCShims"],
        .when(configuration: .release))
]

// A package of its own, for the gateway and telltale-push, so that building the daemon fetches none of this.
let package = Package(
    name: "telltale-gateway",
    products: [
        .library(name: "TelltaleNIOClient", targets: ["TelltaleNIOClient"]),
        .executable(name: "telltale-gateway", targets: ["telltale-gateway"]),
        .executable(name: "telltale-push", targets: ["telltale-push"]),
    ],
    dependencies: [
        .package(name: "telltale", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        // The line protocol on SwiftNIO: for the gateway, and for programs of others.
        .target(
            name: "TelltaleNIOClient", dependencies: [client, nioCore, nioPosix, nioSSL, logging],
            swiftSettings: settings),
        // Everything that needs no socket: options, routes, problems, events, webhooks, figures.
        .target(
            name: "Gateway", dependencies: [client, kinds, push, crypto, exposition, logging, metrics, httpTypes],
            swiftSettings: settings),
        // The page for browsers, inside the program.
        .target(name: "CGzip", linkerSettings: [.linkedLibrary("z")]),
        .target(name: "CGatewayFiles"),
        .target(
            name: "Board", dependencies: ["CGatewayFiles", "CGzip", crypto], exclude: ["Page"],
            swiftSettings: settings),
        // The bounds of each listener: connections, their files, and the time of a request.
        .target(
            name: "ListenerLimits",
            dependencies: [
                "Gateway", httpTypes, hummingbirdCore, logging, metrics, nioCore, nioHTTP2, nioHTTPTypes,
                nioHTTPTypesHTTP2, nioSSL, nioTLS,
            ],
            swiftSettings: settings),
        // The sockets: HTTP on Hummingbird, a pool of connections to the daemon, one more for each stream.
        .target(
            name: "GatewayServer",
            dependencies: [
                "Board", "Gateway", "ListenerLimits", "TelltaleNIOClient", client, crypto, exposition, logging, metrics,
                lifecycle, nioCore, nioPosix,
                nioExtras, nioHPACK, nioHTTP1, nioHTTP2, nioHTTPTypes, nioHTTPTypesHTTP2, nioSSL, nioTLS, push,
                httpTypes,
                hummingbird, hummingbirdCore, hummingbirdHTTP2, signals,
            ],
            swiftSettings: settings),
        // The start of both programs.
        .target(name: "Launch", dependencies: [argumentParser], swiftSettings: settings),
        .executableTarget(
            name: "telltale-gateway",
            dependencies: [
                "CGatewayFiles", "Gateway", "GatewayServer", "Launch", client, argumentParser, logging, metrics,
            ],
            swiftSettings: settings, linkerSettings: withFoundationInside),
        // The product of the folder beside, to which Push is a link: a target has no path outside of its package, and a
        // package of its own would compile all of the above once more.
        // Pushes to real devices: rows in, HTTP/2 to Apple's service out, registrations in SQLite.
        .target(
            name: "PushServer",
            dependencies: [
                "Gateway", "ListenerLimits", "TelltaleNIOClient", client, push, sqlite, crypto, logging, lifecycle,
                nioCore, nioPosix, nioHPACK, nioHTTP1, nioHTTP2, nioSSL, httpTypes, hummingbird, hummingbirdCore,
                signals,
            ],
            path: "Push/Sources/PushServer", swiftSettings: settings),
        .executableTarget(
            name: "telltale-push", dependencies: ["Gateway", "Launch", "PushServer", client, argumentParser, logging],
            path: "Push/Sources/telltale-push", swiftSettings: settings, linkerSettings: withFoundationInside),
        // For comparisons in bench.py.
        .executableTarget(
            name: "bare-relay", dependencies: [hummingbird, logging, nioCore], swiftSettings: settings,
            linkerSettings: withFoundationInside),
        .testTarget(
            name: "GatewayTests",
            dependencies: ["Board", "Gateway", client, push, crypto, exposition, logging, metrics],
            swiftSettings: settings),
        .testTarget(
            name: "GatewayServerTests",
            dependencies: [
                "Gateway", "GatewayServer", "ListenerLimits", httpTypes, lifecycle, logging, nioCore, nioEmbedded,
                nioHTTPTypes, nioPosix,
                nioSSL, hummingbirdCore, hummingbirdHTTP2,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PushServerTests",
            dependencies: ["PushServer", client, push, nioCore, nioEmbedded, nioHPACK, nioHTTP1, nioHTTP2],
            path: "Push/Tests/PushServerTests", swiftSettings: settings),
        .testTarget(
            name: "TelltaleNIOClientTests", dependencies: ["TelltaleNIOClient", client, nioCore, nioPosix],
            swiftSettings: settings),
    ]
)
