import Foundation
import Synchronization

/// Does something `count` times, on as many threads as there are workers.
///
/// - Parameter body: Takes the number of the time and that of the worker, both from 0.
/// - Returns: The results, in the order of their numbers.
func concurrently<Value: Sendable>(
    _ count: Int, workers: Int, _ body: @Sendable (_ index: Int, _ worker: Int) -> Value
) -> [Value] {
    let next = Atomic<Int>(0)
    let results = Mutex<[(index: Int, value: Value)]>([])
    DispatchQueue.concurrentPerform(iterations: min(count, workers)) { worker in
        while true {
            let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
            guard index < count else { return }
            let value = body(index, worker)
            results.withLock { $0.append((index, value)) }
        }
    }
    return results.withLock { $0 }.sorted { $0.index < $1.index }.map(\.value)
}
