/// The addresses of servers of which any may answer, in the order in which a client tries them: 1 to 16.
public struct EndpointList: Hashable, Sendable, CustomStringConvertible {
    public let endpoints: [Endpoint]

    /// The most addresses of a list.
    public static let countLimit = 16

    /// `nil` for an empty list, and for one of more than ``countLimit`` addresses.
    public init?(_ endpoints: [Endpoint]) {
        guard (1...Self.countLimit).contains(endpoints.count) else { return nil }
        self.endpoints = endpoints
    }

    public init(_ endpoint: Endpoint) { endpoints = [endpoint] }

    /// Parses `ADDRESS,ADDRESS,…`, each as ``Endpoint`` does; `nil` for anything else.
    public init?(_ text: String) {
        var endpoints: [Endpoint] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let endpoint = Endpoint(String(part)) else { return nil }
            endpoints.append(endpoint)
        }
        self.init(endpoints)
    }

    public var first: Endpoint { endpoints[0] }

    public var description: String { endpoints.map(\.description).joined(separator: ",") }
}
