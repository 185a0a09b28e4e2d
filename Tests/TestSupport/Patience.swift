internal import Glibc
public import Testing

/// How long a test waits for a certain event, in seconds.
///
/// Only a test that hangs uses it up. A busy machine, or one that stands still for some seconds, is no reason to fail.
public let patience = 120.0

extension Trait where Self == TimeLimitTrait {
    /// A test that hangs ends one day. The time counts from the moment at which the test could have begun, and on a
    /// busy machine other tests have the threads for minutes.
    public static var endsOneDay: Self { .timeLimit(.minutes(20)) }
}

/// Waits until it is so, and gives other tasks the thread. A test that waits in vain is cancelled by its time limit
/// (``endsOneDay``).
public func waitUntil(_ isSo: () async throws -> Bool) async throws {
    while try await !isSo() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// A test waited in vain.
public struct WaitedInVain: Error {}

/// Waits until another thread has made it so. Not for the cooperative pool.
public func spinUntil(_ isSo: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(patience)
    while try !isSo() {
        guard ContinuousClock.now < end else { throw WaitedInVain() }
        sched_yield()
    }
}
