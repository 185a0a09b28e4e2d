internal import Foundation
internal import Synchronization
internal import Testing

/// A value that closures of one loop share.
public final class Box<Value> {
    public var value: Value

    public init(_ value: Value) {
        self.value = value
    }
}

/// Holds one thread until another opens it.
public final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    public init() {}

    public func open() {
        semaphore.signal()
    }

    /// Waits, and leaves the gate open for the next. Not for the cooperative pool.
    public func wait() {
        if semaphore.wait(timeout: .now() + patience) == .timedOut { Issue.record("waited \(patience) s in vain") }
        semaphore.signal()
    }
}

/// A thread that can be waited for.
public struct JoinableThread {
    private let isDone = Gate()

    public init(_ body: @escaping @Sendable () -> Void) {
        Thread { [isDone] in
            body()
            isDone.open()
        }.start()
    }

    /// Not for the cooperative pool.
    public func join() {
        isDone.wait()
    }
}

/// A result that one thread leaves for another.
public final class SharedResult<Value: Sendable>: Sendable {
    private struct Unset: Error {}

    private let result = Mutex<Result<Value, any Error>>(.failure(Unset()))

    public init() {}

    public func set(_ result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
    }

    public func get() throws -> Value {
        try result.withLock { try $0.get() }
    }
}
