// swift-tools-version: 6.3

import PackageDescription

// One list of settings for every target: Swift 6, all upcoming features that 6.3 has left, strict memory
// safety, and warnings as errors (a dependency's deprecation alone stays a warning).
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
]

/// The same for what stands between a socket and a machine. In a release build nobody asks at each access to an object
/// whether somebody else is just changing it: that took a fifth of the hub's instructions a delivery. It is asked in every
/// debug build, where all tests run, small simulated worlds among them; and one thread has all of these objects.
///
/// Not for what the libraries among the products are made of: a package with such a flag cannot be depended on.
let hotSettings = settings + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// The Swift runtime within the program, so that it runs on machines without Swift. The libraries are what Foundation stands on,
/// and the linker does not find them by itself: the modules that were imported are those of the shared libraries.
func withSwiftInside(_ libraries: String...) -> [LinkerSetting] {
    [.unsafeFlags(["-static-stdlib"] + libraries.map { "-l\($0)" }, .when(configuration: .release))]
}

/// FoundationEssentials is what the argument parser uses.
let withEssentialsInside = withSwiftInside("_FoundationCollections", "_FoundationCShims")
let withFoundationInside = withSwiftInside(
    "CoreFoundation", "_FoundationICU", "_FoundationCollections", "_FoundationCShims")

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let collections: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let histogram: Target.Dependency = .product(name: "Histogram", package: "hdrhistogram-swift")

/// A module of the pure core or an edge: `Sources/<name>`.
func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], swiftSettings: [SwiftSetting] = settings
) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

/// A program that people run beside the daemon: `Tools/<name>`.
func tool(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], linkerSettings: [LinkerSetting] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Tools/\(name)", exclude: exclude, swiftSettings: settings,
        linkerSettings: linkerSettings)
}

/// The tests of one module: `Tests/<module>Tests`.
func tests(_ module: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: "\(module)Tests", dependencies: dependencies + ["TestSupport"], swiftSettings: settings)
}

let package = Package(
    name: "telltale",
    // For the libraries that apps embed: spans of strings and UTF-8 validation are in the standard library of these systems.
    // The programs are built on Linux.
    platforms: [.macOS(.v26), .iOS(.v26), .watchOS(.v26), .tvOS(.v26), .visionOS(.v26)],
    products: [
        .library(
            name: "TelltaleClient",
            targets: ["TelltaleClient", "TelltaleClientProtocol", "TelltaleWire", "TelltaleModel", "TelltaleEventLoop"]),
        .library(name: "TelltaleKit", targets: ["TelltaleKit", "TelltaleModel"]),
        .library(name: "TelltaleStatechart", targets: ["TelltaleStatechart", "TelltaleModel"]),
        .library(
            name: "TelltaleKinds",
            targets: ["Kinds", "KindPreview", "Surfaces", "Machines", "TelltaleStatechart", "TelltaleModel"]),
        .library(name: "TelltalePush", targets: ["ApplePush"]),
        .library(name: "TelltaleMetrics", targets: ["TelltaleMetrics"]),
        .library(name: "TelltaleSQLite", targets: ["CSQLite"]),
        .library(name: "TelltaleCrypto", targets: ["TelltaleCrypto"]),
        // The programs are no products: SwiftPM fetches for an app whatever a declared product of this package needs, and builds the
        // programs here without that (swift build --product telltaled).
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    ],
    targets: [
        // Pure: no clock, no IO, no randomness, no Foundation. In the order in which data flows.
        module("TelltaleModel"),
        module("TelltaleStatechart", ["TelltaleModel"]),
        module("Kinds", ["TelltaleModel", "TelltaleStatechart"]),
        // C between a socket and a machine, and none of it in what an app embeds.
        .target(
            name: "CTelltaleSimdJSON",
            // The C library's mathematics too: nothing else of the pure modules would link it.
            linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("m")]),
        module("SimdJSON", ["TelltaleModel", "CTelltaleSimdJSON"]),
        .target(name: "CTelltalePrefetch"),
        module("Prefetch", ["TelltaleModel", "CTelltalePrefetch"]),
        module("Machines", ["TelltaleModel", "TelltaleStatechart", "Kinds", "Prefetch"]),
        module("Surfaces", ["TelltaleModel", "Kinds", "Machines"]),
        module("KindPreview", ["TelltaleModel", "Kinds", "Machines", "Surfaces"]),
        module("TelltaleWire", ["TelltaleModel"]),
        module("ApplePush", ["TelltaleModel", "TelltaleWire", "Kinds"]),
        // Figures for Prometheus, of the daemon and of the gateway.
        module("TelltaleMetrics", ["TelltaleModel"]),
        // The client's side of the protocol: bytes and times in, bytes and events out.
        module("TelltaleClientProtocol", ["TelltaleModel", "TelltaleWire", collections]),
        module("FanOut", ["TelltaleModel", collections, heap], swiftSettings: hotSettings),
        module(
            "Hub",
            [
                "TelltaleModel", "TelltaleStatechart", "Kinds", "Machines", "Surfaces", "TelltaleWire", "FanOut",
                "Journal", "Prefetch", "SimdJSON", collections, heap,
            ],
            swiftSettings: hotSettings),

        module(
            "Server", ["TelltaleModel", "Kinds", "Hub", "Journal", collections], swiftSettings: hotSettings),

        // The replicated log of a cluster: bytes and times in, appends and roles out.
        module("Replication", ["TelltaleModel", "Journal"]),
        module("Cluster", ["TelltaleModel", "TelltaleWire", "Kinds", "Hub", "Server", "Journal", "Replication"]),

        // Edges: each wraps one thing outside, and decides nothing.
        // For apps: it and all that it depends on are Swift.
        module("TelltaleKit", ["TelltaleModel", "TelltaleWire", "TelltaleClientProtocol"]),
        module("Journal", ["TelltaleModel"]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        module("JournalSQLite", ["TelltaleModel", "Journal", "CSQLite"]),
        module("AtomicFile"),
        // libcrypto: digests of tokens, and signatures of signed ones.
        .target(name: "CTelltaleCrypto", linkerSettings: [.linkedLibrary("crypto")]),
        // The same for the gateway and telltale-push, which would build a BoringSSL for it otherwise.
        module("TelltaleCrypto", ["CTelltaleCrypto"]),
        module("Authenticator", ["TelltaleModel", "Hub", "AtomicFile", "CTelltaleCrypto"]),
        .systemLibrary(name: "CTelltaleLibuv", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        // OpenSSL, without IO.
        .target(name: "CTelltaleTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        module("TelltaleEventLoop", ["CTelltaleLibuv", "CTelltaleTLS", collections]),
        // libnats, opened at run time: the build needs nothing of it.
        .target(name: "CTelltaleNATS"),
        module(
            "ReplicationNATS", ["TelltaleModel", "Journal", "Replication", "TelltaleEventLoop", "CTelltaleNATS"]),
        // A log for tests of several daemons of one machine.
        module("ReplicationFile", ["TelltaleModel", "Replication", "TelltaleEventLoop", "AtomicFile"]),
        module("TelltaleClient", ["TelltaleModel", "TelltaleWire", "TelltaleClientProtocol", "TelltaleEventLoop"]),
        // An event costs many small allocations that die together with their batch: glibc's malloc takes a fifth more of
        // the whole for that (telltale-bench ingest, side by side).
        .target(name: "CJemalloc", linkerSettings: [.linkedLibrary("jemalloc")]),
        .executableTarget(
            name: "telltaled",
            dependencies: [
                "TelltaleModel", "Kinds", "Machines", "Surfaces", "TelltaleWire", "Hub", "Server", "Journal",
                "Replication", "ReplicationNATS", "ReplicationFile", "Cluster", "AtomicFile",
                "JournalSQLite",
                "TelltaleEventLoop", "Authenticator", "TelltaleMetrics",
                "CJemalloc", argumentParser, logging,
            ],
            swiftSettings: hotSettings,
            linkerSettings: withEssentialsInside),

        // Traces of real orders and recordings of a daemon, and how they are replayed.
        module("Recordings", ["TelltaleModel", "TelltaleWire"]),
        // The daemon's turn, performed on a simulated disk, network and clock.
        module(
            "Simulation",
            [
                "TelltaleModel", "TelltaleWire", "Recordings", "Kinds", "Machines", "Surfaces", "Hub", "Server",
                "Journal",
                "Replication", "Cluster", "ApplePush", heap,
            ]),

        // Tools.
        .target(
            name: "Cards", dependencies: ["TelltaleModel"], path: "Tools/telltale/Cards", swiftSettings: settings),
        .target(
            name: "Console", dependencies: ["TelltaleModel", "TelltaleWire", "Cards"], path: "Tools/telltale/Console",
            swiftSettings: settings),
        .target(
            name: "ToolSupport",
            dependencies: ["TelltaleModel", "TelltaleEventLoop", "AtomicFile", "Cards", argumentParser],
            path: "Tools/Support",
            swiftSettings: settings),
        tool(
            "telltale",
            [
                "TelltaleModel", "TelltaleStatechart", "Kinds", "Machines", "Surfaces", "TelltaleWire",
                "TelltaleClient", "TelltaleEventLoop", "Journal",
                "JournalSQLite", "Replication", "ReplicationNATS", "ReplicationFile", "Hub", "Server", "KindPreview",
                "AtomicFile", "Authenticator", "Cards", "Console",
                "ToolSupport",
                argumentParser,
            ], exclude: ["Cards", "Console"], linkerSettings: withFoundationInside),
        // The scenarios that ship, their data and the kind files, inside the program.
        .target(name: "CShippedFiles", path: "Tools/telltale-sim/CShippedFiles"),
        // Replays of real orders to a daemon: `telltale-sim replay` and the demo.
        .target(
            name: "Demo",
            dependencies: [
                "Recordings", "Cards", "ToolSupport", "TelltaleModel", "TelltaleWire", "TelltaleClient",
                "TelltaleEventLoop", "CShippedFiles", argumentParser,
            ],
            path: "Tools/telltale-sim/Demo", swiftSettings: settings),
        tool("telltale-demo", ["Demo", "ToolSupport", argumentParser], linkerSettings: withFoundationInside),
        .target(
            name: "Reports", dependencies: ["Simulation", "Cards", "TelltaleModel", histogram],
            path: "Tools/telltale-sim/Reports", swiftSettings: settings),
        tool(
            "telltale-sim",
            [
                "Simulation", "Recordings", "Demo", "Reports", "Cards", "ToolSupport", "TelltaleModel", "TelltaleWire",
                "TelltaleClient", "TelltaleEventLoop", argumentParser,
            ],
            exclude: ["Scenarios", "CShippedFiles", "Demo", "Reports"], linkerSettings: withFoundationInside),
        .target(
            name: "CFanOut", path: "Tools/telltale-bench/CFanOut",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CAllocations", path: "Tools/telltale-bench/CAllocations"),
        tool(
            "telltale-bench",
            [
                "TelltaleModel", "TelltaleStatechart", "Kinds", "Machines", "Surfaces", "TelltaleWire", "Hub", "Server",
                "TelltaleClient", "TelltaleEventLoop", "Journal",
                "JournalSQLite", "Replication", "ReplicationNATS", "CFanOut", "CAllocations", argumentParser, histogram,
            ], exclude: ["CFanOut", "CAllocations", "Hub/limits.json", "README.md"]),

        // Tests.
        .target(
            name: "TestSupport", dependencies: ["TelltaleModel", "TelltaleEventLoop"], path: "Tests/TestSupport",
            swiftSettings: settings),
        tests("Model", ["TelltaleModel"]),
        tests("SimdJSON", ["TelltaleModel", "SimdJSON"]),
        tests("Metrics", ["TelltaleModel", "TelltaleMetrics"]),
        tests("Statechart", ["TelltaleModel", "TelltaleStatechart", "Kinds"]),
        tests("Kinds", ["TelltaleModel", "TelltaleStatechart", "Kinds"]),
        tests("Machines", ["TelltaleModel", "TelltaleStatechart", "Kinds", "Machines"]),
        tests("Surfaces", ["TelltaleModel", "TelltaleStatechart", "Kinds", "Machines", "Surfaces"]),
        tests("KindPreview", ["TelltaleModel", "Kinds", "Machines", "Surfaces", "KindPreview"]),
        tests("Wire", ["TelltaleModel", "TelltaleWire"]),
        tests("ApplePush", ["TelltaleModel", "TelltaleWire", "ApplePush"]),
        tests("FanOut", ["TelltaleModel", "FanOut"]),
        tests(
            "Hub",
            [
                "TelltaleModel", "TelltaleStatechart", "Kinds", "Machines", "Surfaces", "TelltaleWire", "FanOut",
                "Journal", "JournalSQLite", "Hub", "Server", heap,
            ]),
        tests("Server", ["TelltaleModel", "Kinds", "Hub", "Server", "Journal"]),
        tests("Journal", ["TelltaleModel", "Journal"]),
        .target(name: "CFaultVFS", dependencies: ["CSQLite"], path: "Tests/CFaultVFS"),
        tests("JournalSQLite", ["TelltaleModel", "Journal", "JournalSQLite", "CFaultVFS"]),
        tests("Replication", ["TelltaleModel", "Journal", "Replication"]),
        tests("Cluster", ["TelltaleModel", "Kinds", "Machines", "Hub", "Server", "Journal", "Replication", "Cluster"]),
        tests(
            "ReplicationNATS",
            ["TelltaleModel", "Journal", "Replication", "TelltaleEventLoop", "ReplicationNATS"]),
        tests("AtomicFile", ["AtomicFile"]),
        // Signs tokens, so that the checks of signatures have something to check.
        .target(name: "CTestSigner", path: "Tests/CTestSigner", linkerSettings: [.linkedLibrary("crypto")]),
        tests("Authenticator", ["TelltaleModel", "Hub", "Authenticator", "CTestSigner"]),
        tests("Crypto", ["TelltaleCrypto"]),
        tests("EventLoop", ["TelltaleEventLoop"]),
        tests("Client", ["TelltaleModel", "TelltaleWire", "TelltaleEventLoop", "TelltaleClient"]),
        tests("Kit", ["TelltaleModel", "TelltaleWire", "TelltaleClientProtocol", "TelltaleKit"]),
        tests("Cards", ["TelltaleModel", "Cards"]),
        tests("Console", ["TelltaleModel", "TelltaleWire", "Cards", "Console"]),
        tests("Recordings", ["TelltaleModel", "TelltaleWire", "Recordings"]),
        tests("Simulation", ["TelltaleModel", "TelltaleWire", "Recordings", "Simulation"]),
        tests("Reports", ["TelltaleModel", "Simulation", "Reports"]),
        tests("BlackBox", ["TelltaleModel", "TelltaleWire", "TelltaleEventLoop", "TelltaleClient", "TelltaleKit"]),
    ],
    cxxLanguageStandard: .cxx17
)
