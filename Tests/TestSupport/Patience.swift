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
