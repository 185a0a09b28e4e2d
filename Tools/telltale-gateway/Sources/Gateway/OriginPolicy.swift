/// Which pages and which names may reach the gateway.
///
/// A request from a foreign page is refused unless it has a bearer token, which a page cannot send by accident. Without
/// authentication the `Host` is checked too, against names that an attacker points at this machine.
public struct OriginPolicy: Sendable {
    /// Names apart from `localhost` and the loopback addresses, in lower case.
    public var hosts: Set<String>
    /// Origins whose pages may send requests, as browsers write them.
    public var origins: Set<String>
    public var isTLS: Bool

    public init(hosts: [String], origins: [String], isTLS: Bool) {
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.origins = Set(origins)
        self.isTLS = isTLS
    }

    /// - Parameters:
    ///   - host: `Host` or `:authority`.
    ///   - isExempt: Whether the request has a bearer token, or goes to a hook, whose signature proves more than an
    ///     origin.
    ///   - isHostChecked: Whether the daemon requires no tokens.
    /// - Throws: `wrong_host`, `cross_origin`.
    public func check(host: String?, origin: String?, isExempt: Bool, isHostChecked: Bool) throws(Problem) {
        if isHostChecked, !isOwnHost(host) {
            throw Problem(
                "wrong_host",
                "this gateway is not called \"\((host ?? "").prefix(100))\"; start it with --host NAME for a name of its own"
            )
        }
        guard let origin, !isExempt, !allows(origin: origin), !isOwn(origin: origin, host: host) else { return }
        throw Problem(
            "cross_origin",
            "pages of \(origin.prefix(100)) may not ask; start the gateway with --cors ORIGIN to let them")
    }

    /// Checks a request with a cookie. Browsers send cookies unasked, so the page must be known as the gateway's own.
    ///
    /// - Parameter fetchSite: `Sec-Fetch-Site`.
    /// - Throws: `cross_origin`.
    public func checkCookie(fetchSite: String?, host: String?, origin: String?) throws(Problem) {
        if fetchSite == "same-origin" { return }
        if let origin, isOwn(origin: origin, host: host) { return }
        throw Problem("cross_origin", "a request by cookie is to come from a page of this gateway")
    }

    public func allows(origin: String) -> Bool { origins.contains(origin) }

    private func isOwn(origin: String, host: String?) -> Bool {
        guard let host else { return false }
        return origin.lowercased() == "\(isTLS ? "https" : "http")://\(host.lowercased())"
    }

    func isOwnHost(_ host: String?) -> Bool {
        guard var name = host?.lowercased()[...] else { return false }
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return false }
            name = name[name.index(after: name.startIndex)..<end]
        } else if let colon = name.firstIndex(of: ":") {
            name = name[..<colon]
        }
        return Self.isLoopback(name) || hosts.contains(String(name))
    }

    /// `localhost`, `127.0.0.0/8` or `::1`.
    public static func isLoopback(_ name: some StringProtocol) -> Bool {
        if name == "localhost" || name == "::1" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// An origin as browsers write it: `scheme://host[:port]`, nothing after it.
    public static func isOrigin(_ text: String) -> Bool {
        for scheme in ["http://", "https://"] where text.hasPrefix(scheme) {
            let rest = text.dropFirst(scheme.count)
            return !rest.isEmpty && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
        }
        return false
    }
}
