internal import NIOCore
public import TelltaleClient

/// One thing that a subscription tells.
public struct Followed: Sendable {
    public var event: SubscriptionEvent
    /// Where to resume behind this event, byte for byte as the daemon gave it; `nil` while there is no such place.
    public var cursor: String?
}

/// The changes of a subscription, for as long as it is iterated. Ends when the daemon refuses the subscription, after the event
/// that says so, and when the client is closed. For one consumer.
///
/// At most some dozen events wait for a consumer that is busy; beyond, the client reads no further, and the daemon folds.
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

/// Tells the client's core that a consumer wants more, or has gone.
struct FollowerDelegate: NIOAsyncSequenceProducerDelegate, Sendable {
    let core: AsyncClientCore
    let number: Int

    func produceMore() { core.eventLoop.execute { core.resume(number) } }

    func didTerminate() { core.eventLoop.execute { core.endFollowing(number) } }
}
