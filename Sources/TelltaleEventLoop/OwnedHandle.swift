internal import CTelltaleLibuv

/// Owns one libuv handle: its memory, and its place on the loop.
///
/// libuv goes on using a handle's memory after `uv_close`, until the close callback has run, a turn later. So the
/// memory is freed in that callback and nowhere else, and the owner is unhooked before. Being `~Copyable`, it cannot
/// be closed twice, and cannot be forgotten.
@safe struct OwnedHandle: ~Copyable {
    let raw: UnsafeMutablePointer<uv_handle_t>
    let loop: EventLoop  // A handle must not outlive its loop.
    private var isClosed: (() -> Void)?

    /// - Parameter initialize: libuv's `uv_…_init`. A handle that failed it is not on the loop, so it is freed at once.
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

    /// Closes the handle, and calls `isClosed` when libuv has let go of it: in a later turn, never from within.
    consuming func close(then isClosed: @escaping () -> Void) {
        self.isClosed = isClosed
    }

    /// Makes ``owner(of:as:)`` find `owner` from libuv's callbacks. It is not retained: its deinit closes the handle.
    func setOwner(_ owner: AnyObject) {
        unsafe uv_handle_set_data(raw, Unmanaged.passUnretained(owner).toOpaque())
    }

    /// The handle as the struct that it was made as, or one of libuv's "base classes" of it.
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

/// The Swift object behind a handle that libuv calls back about.
///
/// What makes it safe: only ``OwnedHandle/setOwner(_:)`` stores into a live handle's `data`, each kind of handle with
/// the one class whose callbacks ask here, and the owner's deinit clears it before the owner is gone.
@unsafe func owner<Raw, Owner: AnyObject>(of handle: UnsafeMutablePointer<Raw>?, as type: Owner.Type) -> Owner? {
    guard let handle = unsafe handle else { return nil }
    let base = unsafe UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
    guard let data = unsafe uv_handle_get_data(base) else { return nil }
    return unsafe Unmanaged<Owner>.fromOpaque(data).takeUnretainedValue()
}
