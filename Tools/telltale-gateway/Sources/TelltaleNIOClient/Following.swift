internal import NIOCore
public import TelltaleClient

/// One event of a subscription.
public struct Followed: Sendable {
    public var event: SubscriptionEvent
    /// The cursor after this event, byte for byte as the daemon sent it; `nil` while there is none.
    public var cursor: String?
}

/// The changes of a subscription, for one consumer, while it is iterated. Ends after the event of a refused
/// subscription, and when the client is closed.
///
/// At most a few dozen events wait for a busy consumer; then the client stops reading, and the daemon folds.
public struct FollowedSequence: AsyncSequence, Sendable {
    typealias Producer = NIOAsyncSequenceProducer<
        Followed, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, FollowerDelegate
    >
    let producer: Producer

    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: Producer.AsyncIterator

        @concurrent
        public mutating func next() async -> Followed? { await base.next() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: producer.makeAsyncIterator()) }
}

/// Notifies the client's core that a consumer wants more, or is gone.
struct FollowerDelegate: NIOAsyncSequenceProducerDelegate, Sendable {
    let core: AsyncClientCore
    let number: Int

    func produceMore() { core.eventLoop.execute { core.resume(number) } }

    func didTerminate() { core.eventLoop.execute { core.endFollowing(number) } }
}
