internal import CTelltaleLibuv

/// Owns one libuv handle: its memory, and its registration with the loop.
///
/// libuv uses a handle's memory after `uv_close`, until the close callback has run in a later turn. The memory is
/// therefore freed in that callback only, and the owner is detached before. A `~Copyable` value cannot be closed twice,
/// and its deinit closes it.
@safe struct OwnedHandle: ~Copyable {
    let raw: UnsafeMutablePointer<uv_handle_t>
    let loop: EventLoop  // A handle must not outlive its loop.
    private var isClosed: (() -> Void)?

    /// - Parameter initialize: libuv's `uv_…_init`. If it fails, the handle is not on the loop and is freed at once.
    @safe init<Raw>(
        on loop: EventLoop, attempting attempt: String,
        _ initialize: (UnsafeMutablePointer<uv_loop_t>, UnsafeMutablePointer<Raw>) -> CInt
    ) throws(UVError) {
        let memory = UnsafeMutablePointer<Raw>.allocate(capacity: 1)
        let status = unsafe initialize(loop.raw, memory)
        guard status >= 0 else {
            unsafe memory.deallocate()
            throw UVError(.init(rawValue: status), attempting: attempt)
        }
        unsafe raw = UnsafeMutableRawPointer(memory).assumingMemoryBound(to: uv_handle_t.self)
        self.loop = loop
    }

    deinit {
        let farewell = unsafe isClosed.map { unsafe Unmanaged.passRetained(Farewell($0)).toOpaque() }
        unsafe uv_handle_set_data(raw, farewell)
        unsafe uv_close(raw) { closed in
            guard let closed = unsafe closed else { return }
            let farewell = unsafe uv_handle_get_data(closed)
            unsafe closed.deallocate()
            guard let farewell = unsafe farewell else { return }
            unsafe Unmanaged<Farewell>.fromOpaque(farewell).takeRetainedValue().isClosed()
        }
    }

    /// Closes the handle and calls `isClosed` after libuv has released it, always in a later turn.
    consuming func close(then isClosed: @escaping () -> Void) {
        self.isClosed = isClosed
    }

    /// Sets the object that ``owner(of:as:)`` returns in libuv's callbacks. It is not retained: its deinit closes the
    /// handle.
    func setOwner(_ owner: AnyObject) {
        unsafe uv_handle_set_data(raw, Unmanaged.passUnretained(owner).toOpaque())
    }

    /// The handle as its own struct type, or as one of libuv's base types of it.
    @unsafe func pointer<Raw>(as type: Raw.Type) -> UnsafeMutablePointer<Raw> {
        unsafe UnsafeMutableRawPointer(raw).assumingMemoryBound(to: type)
    }

    private final class Farewell {
        let isClosed: () -> Void

        init(_ isClosed: @escaping () -> Void) {
            self.isClosed = isClosed
        }
    }
}

/// The Swift object of a handle in libuv's callbacks.
///
/// It is safe because only ``OwnedHandle/setOwner(_:)`` sets the `data` of a live handle, each kind of handle has one
/// class of owner whose callbacks call this, and the owner's deinit clears `data`.
@unsafe func owner<Raw, Owner: AnyObject>(of handle: UnsafeMutablePointer<Raw>?, as type: Owner.Type) -> Owner? {
    guard let handle = unsafe handle else { return nil }
    let base = unsafe UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
    guard let data = unsafe uv_handle_get_data(base) else { return nil }
    return unsafe Unmanaged<Owner>.fromOpaque(data).takeUnretainedValue()
}
