internal import Gateway
internal import Hummingbird
internal import ListenerLimits
internal import Metrics
internal import NIOCore
internal import TelltaleClient
internal import TelltaleMetrics
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// `/metrics`, `/healthz` and `/readyz`, on a separate listener, for the machine's operators.
struct OpsResponder: HTTPResponder {
    typealias Context = GatewayContext

    let gateway: GatewayState
    let registry: MetricsRegistry
    let figures: StatsCache

    func respond(to request: Request, context: GatewayContext) async throws -> Response {
        let path = (request.head.path ?? "").split(separator: "?", maxSplits: 1).first ?? ""
        guard ["/metrics", "/healthz", "/readyz"].contains(path) else {
            return .problem(Problem("not_found", "there are /metrics, /healthz and /readyz"))
        }
        guard request.method == .get || request.method == .head else {
            var problem = Problem("method", "\(path) takes GET, HEAD")
            problem.headers = [("Allow", "GET, HEAD")]
            return .problem(problem)
        }
        var response: Response
        switch path {
        case "/healthz": response = .text("ok\n")
        case "/readyz": response = await readiness()
        default: response = await metrics(request)
        }
        response.headers[.cacheControl] = "no-store"
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func readiness() async -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        var status = 200
        do throws(Problem) {
            do throws(Problem) {
                _ = try await gateway.link.askForSelf(.ping, timeout: .seconds(1))
            } catch {
                // A gateway without a token serves callers with their own tokens.
                guard error.code == "auth_required", gateway.link.ownToken == nil else { throw error }
            }
            writer.member("ready", true)
            writer.member("auth", gateway.link.isOpen ? "none" : "token")
            if let node = gateway.link.node {
                writer.name(node.term == nil ? "follower" : "leader")
                writer.beginObject()
                writer.member("node", node.name)
                if let term = node.term { writer.member("term", term) }
                writer.member("address", node.address)
                writer.endObject()
            }
        } catch {
            status = 503
            writer.member("ready", false)
            writer.member("why", error.code)
            writer.member("title", error.title)
        }
        writer.endObject()
        return .json(writer.bytes, status: status)
    }

    private func metrics(_ request: Request) async -> Response {
        let accepted = request.headers[values: .accept].joined(separator: ",")
        let format: MetricFamily.Format = accepted.contains("application/openmetrics-text") ? .openMetrics : .text
        let streams = gateway.streams.count
        Meter(label: "telltale_gateway_streams").set(streams)
        let answers = gateway.slots.count
        Meter(label: "telltale_gateway_connections").set(gateway.connections.count)
        Meter(label: "telltale_gateway_body_bytes").set(gateway.connections.bodyByteCount)
        Meter(label: "telltale_gateway_long_answers").set(answers)
        Meter(label: "telltale_gateway_daemon_connections").set(streams + answers + gateway.link.connectionCount + 1)
        let (stats, version) = await figures.current(gateway.link)
        var families = DaemonFigures.families(stats, version: version) + registry.families()
        if let expiry = gateway.certificateExpiry {
            let family = MetricFamily(
                "telltale_tls_certificate_expiry_timestamp_seconds", .gauge,
                "When the certificate of a listener is no longer good, Unix time.",
                [MetricFamily.Sample(labels: [("listener", "http")], value: Double(expiry))])
            // The daemon's certificate may be listed already.
            if let own = families.firstIndex(where: { $0.name == family.name }) {
                families[own].samples += family.samples
            } else {
                families.append(family)
            }
        }
        return .text(MetricFamily.render(families, format), type: format.contentType)
    }
}

/// The daemon's statistics: one request for each scrape, at most one a second.
actor StatsCache {
    private var stats: JSON?
    private var asked: NIODeadline?

    func current(_ link: DaemonLink) async -> (stats: JSON?, version: String?) {
        if asked.map({ NIODeadline.now() - $0 < .seconds(1) }) != true {
            asked = .now()
            let answer = try? await link.askForSelf(.stats, timeout: .seconds(2))
            stats = answer?.reply.line.tail.map { .object($0) }
        }
        return (stats, link.version)
    }
}
