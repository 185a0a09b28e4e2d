internal import CTelltaleLibuv

/// Calls a closure at the end of each turn, just before the loop waits. Releasing the last reference stops it.
///
/// It does not keep the loop running by itself.
@safe public final class PrepareHandle {
    private let handle: OwnedHandle
    private let onTurn: () -> Void

    public init(on loop: EventLoop, onTurn: @escaping () -> Void) throws(UVError) {
        handle = try unsafe OwnedHandle(on: loop, attempting: "make a prepare handle", uv_prepare_init)
        self.onTurn = onTurn
        handle.setOwner(self)
        unsafe uv_prepare_start(handle.pointer(as: uv_prepare_t.self)) { raw in
            unsafe owner(of: raw, as: PrepareHandle.self)?.onTurn()
        }
        unsafe uv_unref(handle.raw)
    }
}

/// Calls a closure in each turn just after the loop has waited and served its sockets. Releasing the last reference
/// stops it.
///
/// It does not keep the loop running by itself.
@safe public final class CheckHandle {
    private let handle: OwnedHandle
    private let onTurn: () -> Void

    public init(on loop: EventLoop, onTurn: @escaping () -> Void) throws(UVError) {
        handle = try unsafe OwnedHandle(on: loop, attempting: "make a check handle", uv_check_init)
        self.onTurn = onTurn
        handle.setOwner(self)
        unsafe uv_check_start(handle.pointer(as: uv_check_t.self)) { raw in
            unsafe owner(of: raw, as: CheckHandle.self)?.onTurn()
        }
        unsafe uv_unref(handle.raw)
    }
}

/// Calls a closure in each turn. While it is started, the loop polls for events instead of waiting.
@safe public final class IdleHandle {
    private let handle: OwnedHandle
    private let onTurn: (IdleHandle) -> Void

    public init(on loop: EventLoop, onTurn: @escaping (IdleHandle) -> Void) throws(UVError) {
        handle = try unsafe OwnedHandle(on: loop, attempting: "make an idle handle", uv_idle_init)
        self.onTurn = onTurn
        handle.setOwner(self)
    }

    public func start() {
        unsafe uv_idle_start(handle.pointer(as: uv_idle_t.self)) { raw in
            guard let idle = unsafe owner(of: raw, as: IdleHandle.self) else { return }
            idle.onTurn(idle)
        }
    }

    public func stop() {
        unsafe uv_idle_stop(handle.pointer(as: uv_idle_t.self))
    }
}
