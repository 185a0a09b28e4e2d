internal import Hummingbird
internal import NIOCore

/// What Hummingbird tells of a request beside the request: the channel that it came on.
struct GatewayContext: InitializableFromSource, Sendable {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
