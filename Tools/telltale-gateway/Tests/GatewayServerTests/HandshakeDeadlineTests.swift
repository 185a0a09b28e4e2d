import Foundation
import HTTPTypes
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle
import Synchronization
import Testing

@testable import GatewayServer
@testable import ListenerLimits

/// The deadline of TLS handshakes, on real sockets.
struct HandshakeDeadlineTests {
    /// Takes what a server sends, up to the end of the connection.
    private final class Ear: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let text = Mutex("")
        let answered: EventLoopPromise<String>

        init(_ loop: any EventLoop) { answered = loop.makePromise() }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let heard = text.withLock { text in
                text += String(buffer: unwrapInboundIn(data))
                return text
            }
            if heard.contains("\r\n") { answered.succeed(heard) }
        }

        func channelInactive(context: ChannelHandlerContext) { answered.succeed("closed") }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// A folder with the files of `Tools/package/dev-certificates`.
    private static func certificates() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "telltale-handshake-\(UUID().uuidString)")
        let process = Process()
        process.executableURL = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../package/dev-certificates")
        process.arguments = [folder.path()]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return folder
    }

    private static func connect(to port: Int, _ ear: Ear, in tls: NIOSSLContext?) async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        let handler = try NIOSSLClientHandler(context: tls, serverHostname: "localhost")
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(ear)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    @Test func `a connection that begins no handshake is closed in time, and one that is done with it goes on`()
        async throws
    {
        let folder = try Self.certificates()
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificates = try CertificateReloader(
            folder.appending(path: "leaf.pem").path(), folder.appending(path: "leaf.key.pem").path())
        let tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.chain, privateKey: certificates.privateKey)
        let patience = TimeAmount.seconds(5)
        let listener = PunctualChannel(
            try HTTP2UpgradeChannel(tlsConfiguration: tls) { _, writer, _ in
                try await writer.writeResponse(HTTPResponse(status: .ok))
            }, patience: patience)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let serving = loop.makePromise(of: Int.self)
        let server = listener.server(
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { serving.succeed($0.localAddress?.port ?? 0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        defer { running.cancel() }
        let port = try await serving.futureResult.get()

        var trusting = TLSConfiguration.makeClientConfiguration()
        trusting.certificateVerification = .none
        let (first, second) = (Ear(loop), Ear(loop))
        let done = try await Self.connect(to: port, first, in: try NIOSSLContext(configuration: trusting))
        // Behind the handshake.
        try await done.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\n"))
        // It begins later, so that at its end the time of the first is over too.
        let halfOpen = try await Self.connect(to: port, second, in: nil)
        #expect(try await second.answered.futureResult.get() == "closed")
        try await halfOpen.closeFuture.get()
        try await done.writeAndFlush(ByteBuffer(string: "Host: localhost\r\n\r\n"))
        #expect(try await first.answered.futureResult.get().hasPrefix("HTTP/1.1 200"))
        try await done.close()
    }
}
