public import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization
internal import TelltaleClient

/// Opens connections to a daemon, or to several of which one serves, plain or with TLS and verified certificates.
public struct DaemonConnector: Sendable {
    /// From the one at which its clients begin. All of them begin at the same one, so that whoever writes by one connection of a
    /// program reads it by another.
    public let addresses: [DaemonSocket]
    /// The server for connections that do not choose one themselves.
    public let choice: ServerChoice
    private let tls: NIOSSLContext?
    /// How long a connection may take, TLS not included.
    public var connectTimeout = TimeAmount.seconds(5)

    /// - Parameter trustRoots: A PEM file with the certificates to trust instead of the system's; only for `tls://`.
    /// - Throws: When the file cannot be read, or holds no certificate.
    public init(to address: DaemonSocket, trustRoots: String? = nil) throws {
        try self.init(to: [address], trustRoots: trustRoots)
    }

    /// - Parameters:
    ///   - addresses: As ``DaemonSocket/list(_:)`` reads them.
    ///   - trustRoots: A PEM file with the certificates to trust instead of the system's; only for `tls://`.
    ///   - random: Chooses the address to begin with.
    /// - Throws: When the file cannot be read, or holds no certificate.
    public init(
        to addresses: [DaemonSocket], trustRoots: String? = nil, random: UInt64 = .random(in: .min ... .max)
    ) throws {
        let addresses = ServerList.beginning(with: addresses, random: random)
        self.addresses = addresses
        choice = ServerChoice(addresses)
        if addresses.first?.isEncrypted == true {
            var configuration = TLSConfiguration.makeClientConfiguration()
            if let trustRoots { configuration.trustRoots = .file(trustRoots) }
            tls = try NIOSSLContext(configuration: configuration)
        } else {
            tls = nil
        }
    }

    /// Connects on `eventLoop`. Nothing is read before the owner requests it (`autoRead` is off).
    ///
    /// - Parameters:
    ///   - address: One of ``addresses``, or a server that one of those named.
    ///   - receiveBufferSize: Bytes that the kernel may hold unread, so that the daemon soon notices a reader that
    ///     stops; `nil` = the kernel's own choice, some MiB.
    ///   - initializer: Adds the handlers; runs on `eventLoop`.
    public func connect(
        to address: DaemonSocket, on eventLoop: any EventLoop, receiveBufferSize: Int32? = nil,
        initializer: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel> {
        let tls = tls
        let serverName: String? =
            if case .tls(let host, _) = address { Self.isIPAddress(host) ? nil : host } else { nil }
        var bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(connectTimeout)
            .channelOption(ChannelOptions.autoRead, value: false)
            // A second read would find bytes only for long answers, which the next turn of the loop reads.
            .channelOption(ChannelOptions.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        let handler = try NIOSSLClientHandler(context: tls, serverHostname: serverName)
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try initializer(channel)
                }
            }
        if let receiveBufferSize {
            bootstrap = bootstrap.channelOption(
                ChannelOptions.socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBufferSize))
        }
        switch address {
        case .unix(let path): return bootstrap.connect(unixDomainSocketPath: path)
        case .tcp(let host, let port), .tls(let host, let port):
            return bootstrap.channelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: host, port: port)
        }
    }

    private static func isIPAddress(_ host: String) -> Bool {
        (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }
}

/// The server for connections without their own ``TelltaleClient/ClientProtocol``. The other connections report where
/// they are served.
public final class ServerChoice: Sendable {
    private let servers: Mutex<ServerList>

    init(_ addresses: [DaemonSocket]) {
        servers = Mutex(ServerList(addresses.map(\.description)))
    }

    /// `nil` if a server named another one by something other than an address.
    public var address: DaemonSocket? { servers.withLock { $0.address.flatMap { DaemonSocket($0) } } }

    /// A connection is served here.
    public func isServed(at address: String) { servers.withLock { $0.isServed(at: address) } }

    /// The server at `address` did not answer; nothing changes if another connection has found out already.
    public func failed(_ address: DaemonSocket?) {
        servers.withLock { if $0.address == address?.description { _ = $0.failed() } }
    }

    /// The server at `address` sends its clients elsewhere: to `target`, if it named one.
    public func redirected(from address: DaemonSocket?, to target: String?) {
        servers.withLock { if $0.address == address?.description { _ = $0.redirected(to: target) } }
    }
}
