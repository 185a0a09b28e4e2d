import Hub
import Server
import TelltaleEventLoop
import TelltaleMetrics
import TelltaleModel
import TelltaleWire

// What the operator's listener answers.
extension Daemon {
    func listenForOperators() throws(UVError) {
        guard let endpoint = configuration.operatorListener else { return }
        operatorListener = try OperatorListener(at: endpoint, on: loop) { [unowned self] in respond(to: $0) }
    }

    private func respond(to request: OperatorRequest) -> OperatorResponse {
        switch request.page {
        case .health: return OperatorResponse(200, text: "ok\n")
        case .readiness:
            let (status, body) = readiness()
            return OperatorResponse(status, text: body, contentType: "application/json")
        case .metrics:
            guard mayReadFigures(request) else {
                var response = OperatorResponse(
                    401, text: "send Authorization: Bearer and a token of the file of --auth with the scope stats\n")
                response.headers = [("WWW-Authenticate", "Bearer")]
                return response
            }
            let figures = try? JSONParser().parse(server.figures(at: clock.now).span)
            let families = DaemonFigures.families(figures, version: Release.version)
            return OperatorResponse(
                200, text: MetricFamily.render(families, request.format), contentType: request.format.contentType)
        }
    }

    /// On an address of this machine alone everybody may.
    private func mayReadFigures(_ request: OperatorRequest) -> Bool {
        if configuration.operatorListener?.isLocal == true { return true }
        guard let directory, let token = request.token else { return false }
        return directory.mayReadFigures(token, at: clock.now.wall)
    }

    private func readiness() -> (status: Int, body: String) {
        var writer = JSONWriter()
        writer.beginObject()
        let fault = cluster?.isInLimbo == true ? "it cannot prove that it leads" : server.reasonNotToServe
        writer.member("ready", fault == nil)
        if let fault { writer.member("why", fault) }
        if let status = server.clusterStatus {
            writer.member("node", status.node)
            writer.member("role", status.role.rawValue)
        }
        writer.endObject()
        return (fault == nil ? 200 : 503, String(decoding: writer.bytes, as: UTF8.self) + "\n")
    }
}
