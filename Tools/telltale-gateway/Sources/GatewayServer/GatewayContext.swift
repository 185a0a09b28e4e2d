internal import Hummingbird
internal import NIOCore

/// Hummingbird's context of a request: the channel that it came on.
struct GatewayContext: InitializableFromSource, Sendable {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
