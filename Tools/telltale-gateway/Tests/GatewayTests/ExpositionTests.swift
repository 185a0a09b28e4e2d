import CoreMetrics
import Gateway
import Logging
import TelltaleMetrics
import TelltaleModel
import Testing

/// Figures and settings.
struct ExpositionTests {
    @Test func `counters, gauges and histograms as Prometheus reads them`() {
        let registry = MetricsRegistry(descriptions: ["a_total": "What \\ it\nmeans."])
        let counter = registry.makeCounter(label: "a_total", dimensions: [("x", "\"q\"\\\n")])
        counter.increment(by: 2)
        registry.makeCounter(label: "a_total", dimensions: [("x", "\"q\"\\\n")]).increment(by: 1)
        registry.makeMeter(label: "b", dimensions: []).set(2.5)
        let timer = registry.makeTimer(label: "c_seconds", dimensions: [("route", "/r")])
        for nanoseconds in [400_000, 600_000, 20_000_000_000] as [Int64] { timer.recordNanoseconds(nanoseconds) }
        // Another type under the same name counts for nothing.
        registry.makeCounter(label: "b", dimensions: []).increment(by: 9)
        let text = MetricFamily.render(registry.families(), .text)
        #expect(
            text.hasPrefix(
                """
                # HELP a_total What \\\\ it\\nmeans.
                # TYPE a_total counter
                a_total{x="\\"q\\"\\\\\\n"} 3
                # HELP b b
                # TYPE b gauge
                b 2.5
                # HELP c_seconds c_seconds
                # TYPE c_seconds histogram
                c_seconds_bucket{route="/r",le="0.0005"} 1
                c_seconds_bucket{route="/r",le="0.001"} 2

                """))
        #expect(
            text.hasSuffix(
                "c_seconds_bucket{route=\"/r\",le=\"+Inf\"} 3\nc_seconds_sum{route=\"/r\"} 20.001\nc_seconds_count{route=\"/r\"} 3\n"
            ))
        let open = MetricFamily.render(registry.families(), .openMetrics)
        #expect(open.contains("# TYPE a counter\na_total{") && open.hasSuffix("# EOF\n"))
    }

    @Test func `the daemon's figures, whatever it reports of them`() throws {
        let stats = try JSONParser.parse(
            """
            {"connections":3,"requests":7,"seq":9,"rules":2,"leftOut":4,"verdicts":{"applied":2,"noop":1},"conflated":{"slow":4},
             "sync":{"count":10,"meanMicroseconds":200,"maxMicroseconds":900,"buckets":[[100,4],[1000,9],[500,"x"],[10000,10]]},"newer":{"x":[]},
             "refusedGroups":2,"foreseen":{"kept":5,"missed":1},"budget":{"units":3,"paid":8,"held":6},
             "cluster":{"node":"n1","role":"leader","term":7,"position":12,"lag":1}}
            """)
        let text = MetricFamily.render(DaemonFigures.families(stats, version: "x1"), .text)
        for line in [
            "telltale_up 1", "telltale_build_info{version=\"x1\"} 1", "telltale_connections 3",
            "telltale_requests_total 7",
            "telltale_commit_sequence 9", "telltale_rules 2", "telltale_left_out_activities 4",
            "telltale_verdicts_total{verdict=\"applied\"} 2",
            "telltale_rows_folded_total{why=\"slow\"} 4", "telltale_journal_sync_seconds_bucket{le=\"0.0001\"} 4",
            "telltale_journal_sync_seconds_bucket{le=\"0.001\"} 9",
            "telltale_journal_sync_seconds_bucket{le=\"0.01\"} 10",
            "telltale_journal_sync_seconds_bucket{le=\"+Inf\"} 10", "telltale_journal_sync_seconds_sum 0.002",
            "telltale_widget_groups_refused_total 2", "telltale_foreseen_deadlines_total{result=\"kept\"} 5",
            "telltale_widget_budget_units 3", "telltale_widget_budget_rows_held_total 6",
            "telltale_cluster_leading{node=\"n1\"} 1", "telltale_cluster_term 7", "telltale_cluster_lag_messages 1",
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
        #expect(MetricFamily.render(DaemonFigures.families(nil, version: nil), .text).hasSuffix("telltale_up 0\n"))
        #expect(
            MetricFamily.render(DaemonFigures.families([:], version: nil), .text)
                .contains("telltale_left_out_activities 0\n"))
    }

    @Test(
        "A certificate has its key and a listener",
        arguments: [
            (["tls-cert": ["c"]], ["--tls-cert: needs --tls-key"]),
            (["tls-key": ["k"]], ["--tls-key: needs --tls-cert"]),
            (["tls-cert": ["c"], "tls-key": ["k"]], ["--tls-cert: no listener uses it"]),
            (["tls-cert": ["c"], "listen": ["https://127.0.0.1:1"]], ["--tls-cert: needs --tls-key"]),
            (["tls-cert": ["c"], "tls-key": ["k"], "listen": ["nowhere"]], ["--listen: "]),
            (["tls-cert": ["c"], "tls-key": ["k"], "listen": ["https://127.0.0.1:1"]], []),
            (["tls-cert": ["c"], "tls-key": ["k"], "apns-listen": ["127.0.0.1:1"]], []),
            (["listen": ["https://127.0.0.1:1"]], ["--listen https://"]),
        ] as [([String: [String]], [String])])
    func certificate(flags: [String: [String]], wanted: [String]) {
        let (_, faults) = SettingSources(file: nil, environment: [:], flags: flags).read()
        #expect(faults.count == wanted.count, "\(faults)")
        for (fault, beginning) in zip(faults, wanted) { #expect(fault.hasPrefix(beginning), "\(fault)") }
    }

    @Test func `a file that is no JSON hides no fault of a flag`() {
        let (_, faults) = SettingSources(
            file: ("f", Array("{".utf8)), environment: [:], flags: ["log-level": ["loud"]]
        ).read()
        #expect(faults.count == 2 && faults[0].hasPrefix("f: ") && faults[1].hasPrefix("--log-level: "), "\(faults)")
    }

    @Test func `defaults, and who goes before whom`() {
        let (defaults, faults) = SettingSources(file: nil, environment: [:], flags: [:]).read()
        #expect(faults.isEmpty)
        #expect(defaults.listen == Settings.Listener(host: "127.0.0.1", port: 7880, isTLS: false))
        #expect(defaults.ops == Settings.Listener(host: "127.0.0.1", port: 7883, isTLS: false))
        #expect(defaults.connect == "127.0.0.1:7878" && defaults.logLevel == .info && defaults.logFormat == .text)
        let file = Array(
            #"{"listen":"http://[::1]:1","ops-listen":"127.0.0.1:2","cors":["https://a"],"host":"x"}"#.utf8)
        let (settings, none) = SettingSources(
            file: ("f", file),
            environment: ["TELLTALE_GATEWAY_OPS_LISTEN": "127.0.0.1:3", "TELLTALE_GATEWAY_HOST": "y,z"],
            flags: ["ops-listen": ["127.0.0.1:4"]]
        ).read()
        #expect(none.isEmpty)
        #expect(settings.listen == Settings.Listener(host: "::1", port: 1, isTLS: false))
        #expect(settings.ops.port == 4 && settings.hosts == ["y", "z"] && settings.origins == ["https://a"])
    }

    @Test(arguments: [
        ("listen", "127.0.0.1:80"), ("listen", "http://127.0.0.1"), ("listen", "http://:80"),
        ("listen", "http://::1:80"),
        ("listen", "http://127.0.0.1:99999"), ("listen", "https://127.0.0.1:80"), ("ops-listen", "x"),
        ("cors", "shop.example"),
        ("cors", "https://shop.example/path"), ("host", ""), ("log-level", "loud"), ("log-format", "xml"),
        ("apns-listen", "x:1"),
    ])
    func `a wrong value is a fault that names its place`(name: String, value: String) {
        let (_, faults) = SettingSources(file: nil, environment: [:], flags: [name: [value]]).read()
        #expect(faults.contains { $0.hasPrefix("--\(name)") }, "\(faults)")
    }
}
