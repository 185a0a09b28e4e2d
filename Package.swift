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

/// The same for what stands between a socket and a machine. In a release build nobody asks at each look at an object
/// whether somebody else is just changing it: that took a fifth of the hub's instructions a delivery. It is asked in every
/// debug build, where all tests run, small simulated worlds among them; and one thread has all of these objects.
///
/// Not for what the libraries among the products are made of: a package with such a flag cannot be depended on.
let hotSettings = settings + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// The Swift runtime within the program, so that it runs on machines without Swift; the two libraries are what
/// FoundationEssentials, which the argument parser uses, stands on.
let withSwiftInside: [LinkerSetting] = [
    .unsafeFlags(
        ["-static-stdlib", "-l_FoundationCollections", "-l_FoundationCShims"], .when(configuration: .release))
]

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
func tool(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Tools/\(name)", exclude: exclude, swiftSettings: settings)
}

/// The tests of one module: `Tests/<module>Tests`.
func tests(_ module: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: "\(module)Tests", dependencies: dependencies + ["TestSupport"], swiftSettings: settings)
}

let package = Package(
    name: "telltale",
    products: [
        .library(name: "TelltaleClient", targets: ["Client", "Wire", "Model"]),
        .library(name: "Statechart", targets: ["Statechart"]),
        .executable(name: "telltaled", targets: ["telltaled"]),
        .executable(name: "telltale", targets: ["telltale"]),
        .executable(name: "telltale-sim", targets: ["telltale-sim"]),
        .executable(name: "telltale-bench", targets: ["telltale-bench"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    ],
    targets: [
        // Pure: no clock, no IO, no randomness, no Foundation. In the order in which data flows.
        .target(
            name: "CSimdJSON",
            // The C library's mathematics too: nothing else of the pure modules would link it.
            linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("m")]),
        .target(name: "CPrefetch"),
        module("Model", ["CSimdJSON", "CPrefetch"]),
        module("Statechart", ["Model"]),
        module("Kinds", ["Model", "Statechart"]),
        module("Machines", ["Model", "Statechart", "Kinds"]),
        module("Surfaces", ["Model", "Kinds", "Machines"]),
        module("Wire", ["Model"]),
        module("FanOut", ["Model", collections, heap], swiftSettings: hotSettings),
        module(
            "Hub",
            ["Model", "Statechart", "Kinds", "Machines", "Surfaces", "Wire", "FanOut", "Journal", collections, heap],
            swiftSettings: hotSettings),

        // Edges: each wraps one thing outside, and decides nothing.
        module("Journal", ["Model"]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        module("JournalSQLite", ["Model", "Journal", "CSQLite"]),
        .systemLibrary(name: "CLibuv", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        module("EventLoop", ["CLibuv"]),
        module("Client", ["Model", "Wire", "EventLoop", collections]),
        // An event costs many small allocations that die together with their batch: glibc's malloc takes a fifth more of
        // the whole for that (telltale-bench ingest, side by side).
        .target(name: "CJemalloc", linkerSettings: [.linkedLibrary("jemalloc")]),
        .executableTarget(
            name: "telltaled",
            dependencies: [
                "Model", "Kinds", "Machines", "Surfaces", "Wire", "Hub", "Journal", "JournalSQLite", "EventLoop",
                "CJemalloc", argumentParser, logging,
            ],
            swiftSettings: hotSettings,
            linkerSettings: withSwiftInside),

        // Tools.
        .target(
            name: "Cards", dependencies: ["Model"], path: "Tools/telltale/Cards", swiftSettings: settings),
        tool(
            "telltale",
            [
                "Model", "Statechart", "Kinds", "Machines", "Surfaces", "Wire", "Client", "EventLoop", "Journal",
                "JournalSQLite", "Hub", "Cards", argumentParser,
            ], exclude: ["Cards"]),
        .target(
            name: "Simulation",
            dependencies: ["Model", "Wire", "Client", "Kinds", "Machines", "Surfaces", "Hub", "Journal", heap],
            path: "Tools/telltale-sim/Simulation", swiftSettings: settings),
        tool(
            "telltale-sim", ["Simulation", "Cards", "Model", "Wire", "Client", "EventLoop", argumentParser, histogram],
            exclude: ["Simulation", "Scenarios"]),
        .target(name: "CFanOut", path: "Tools/telltale-bench/CFanOut"),
        .target(name: "CAllocations", path: "Tools/telltale-bench/CAllocations"),
        tool(
            "telltale-bench",
            [
                "Model", "Statechart", "Kinds", "Machines", "Surfaces", "Wire", "Hub", "Client", "EventLoop", "Journal",
                "JournalSQLite", "CFanOut", "CAllocations", argumentParser, histogram,
            ], exclude: ["CFanOut", "CAllocations", "Hub/limits.json", "README.md"]),

        // Tests.
        .target(
            name: "TestSupport", dependencies: ["Model", "EventLoop"], path: "Tests/TestSupport",
            swiftSettings: settings),
        tests("Model", ["Model"]),
        tests("Statechart", ["Model", "Statechart", "Kinds"]),
        tests("Kinds", ["Model", "Statechart", "Kinds"]),
        tests("Machines", ["Model", "Statechart", "Kinds", "Machines"]),
        tests("Surfaces", ["Model", "Statechart", "Kinds", "Machines", "Surfaces"]),
        tests("Wire", ["Model", "Wire"]),
        tests("FanOut", ["Model", "FanOut"]),
        tests(
            "Hub", ["Model", "Statechart", "Kinds", "Machines", "Surfaces", "Wire", "FanOut", "Journal", "Hub", heap]),
        tests("Journal", ["Model", "Journal"]),
        .target(name: "CFaultVFS", dependencies: ["CSQLite"], path: "Tests/CFaultVFS"),
        tests("JournalSQLite", ["Model", "Journal", "JournalSQLite", "CFaultVFS"]),
        tests("EventLoop", ["EventLoop"]),
        tests("Client", ["Model", "Wire", "EventLoop", "Client"]),
        tests("Cards", ["Model", "Cards"]),
        tests("Simulation", ["Model", "Wire", "Simulation"]),
        tests("BlackBox", ["Model", "Wire", "EventLoop", "Client"]),
    ],
    cxxLanguageStandard: .cxx17
)
