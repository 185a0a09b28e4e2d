package import HummingbirdCore
package import Logging
package import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Closes a connection whose TLS handshake does not finish in time, so that unfinished handshakes do not hold
/// descriptors.
///
/// It comes after the TLS handler, which reports the end of the handshake.
package final class HandshakeDeadline: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer

    package static let patience = TimeAmount.seconds(10)

    private let patience: TimeAmount
    private var deadline: Scheduled<Void>?

    package init(_ patience: TimeAmount = HandshakeDeadline.patience) {
        self.patience = patience
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { deadline?.cancel() }
        context.fireUserInboundEventTriggered(event)
    }
}

/// A child channel in TLS with a ``HandshakeDeadline``.
package struct PunctualChannel<Base: ServerChildChannel>: ServerChildChannel {
    package typealias Value = Base.Value

    let base: Base
    let patience: TimeAmount

    package init(_ base: Base, patience: TimeAmount = HandshakeDeadline.patience) {
        self.base = base
        self.patience = patience
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { [patience] value in
            let pipeline = channel.pipeline.syncOperations
            let tls = try pipeline.handler(type: NIOSSLServerHandler.self)
            try pipeline.addHandler(HandshakeDeadline(patience), position: .after(tls))
            return value
        }
    }

    package func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
