public import Testing

/// For how long a test waits for what is bound to happen, in seconds.
///
/// Only what hangs uses it up. A machine that has others to serve, or that stands still for some seconds, is no reason to
/// fail: a test that waits for less tells of the machine.
public let patience = 120.0

extension Trait where Self == TimeLimitTrait {
    /// What hangs ends one day. The time counts from the moment at which a test might have begun, and on a busy machine
    /// others have the threads for minutes.
    public static var endsOneDay: Self { .timeLimit(.minutes(20)) }
}
