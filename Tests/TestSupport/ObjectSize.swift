import Glibc

/// The memory that the allocator gave an object, in bytes: its size, rounded up by less than 16 bytes.
///
/// - Returns: `Int.max` where the C library has no `malloc_usable_size`, which Swift's module of it does not declare.
public func allocatedByteCount(of object: AnyObject) -> Int {
    typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Int
    guard let symbol = unsafe dlsym(nil, "malloc_usable_size") else { return .max }
    let function = unsafe unsafeBitCast(symbol, to: Function.self)
    return unsafe function(Unmanaged.passUnretained(object).toOpaque())
}
