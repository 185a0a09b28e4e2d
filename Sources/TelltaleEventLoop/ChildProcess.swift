internal import CTelltaleLibuv
internal import Glibc

/// A child process with its own session and process group, without standard input. The loop reads its output and
/// reports its end.
///
/// It keeps itself and its loop alive until it ends, because the loop must collect its exit status. Processes that it
/// has started may outlive it; they are not awaited.
@safe public final class ChildProcess {
    public enum Stream: Sendable {
        case output, error
    }

    /// The way in which the process ended.
    public enum End: Hashable, Sendable {
        case exited(status: CInt)
        case killed(signal: CInt)
    }

    public typealias OnData = (ChildProcess, Stream, Span<UInt8>) -> Void
    public typealias OnEnd = (ChildProcess, End) -> Void

    /// The identifier of the process and of its group.
    public let identifier: CInt
    public private(set) var isRunning = true

    private let handle: OwnedHandle
    private var outputs: [OutputPipe]
    private let onData: OnData
    private let onEnd: OnEnd
    /// A reference to itself that keeps it alive while it runs.
    private var selfReference: ChildProcess?

    /// - Parameters:
    ///   - path: The path of the program, which is not searched in `PATH`.
    ///   - environment: Variables that are added to this process's environment or replace its values.
    ///   - onData: Called with output, at least 1 and at most ``EventLoop/readBufferByteCount`` bytes, which are valid
    ///     only during the call.
    ///   - onEnd: Called last, once, after all output of the program itself.
    /// - Throws: The system's error: there is no such program, or no room for another process.
    /// - Precondition: No argument contains a NUL.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:], on loop: EventLoop,
        onData: @escaping OnData, onEnd: @escaping OnEnd
    ) throws(UVError) {
        let attempt = "run \(path)"
        let output = try OutputPipe(.output, on: loop, attempting: attempt)
        let error = try OutputPipe(.error, on: loop, attempting: attempt)
        let words = CStringList([path] + arguments)
        let variables = CStringList(changing: environment)
        var status: CInt = 0
        // The handle is on the loop even if the program could not be run, and must be closed then too.
        handle = try OwnedHandle(on: loop, attempting: attempt) { loop, process in
            status = unsafe Self.spawn(loop, process, words, variables, [output.writingEnd, error.writingEnd])
            return 0
        }
        // The child has its own copies. A copy left open here would keep the pipe from ending.
        output.closeWritingEnd()
        error.closeWritingEnd()
        try UVError.check(status, attempting: attempt)
        identifier = unsafe uv_process_get_pid(handle.pointer(as: uv_process_t.self))
        outputs = [output, error]
        self.onData = onData
        self.onEnd = onEnd
        handle.setOwner(self)
        selfReference = self
        // The loop learns of the end of a child through this signal.
        SignalHandle.unblock(SIGCHLD)
        for pipe in outputs { pipe.start(for: self) }
    }

    /// Asks the process and its group to terminate. Does nothing after its end.
    public func terminate() {
        // After its end, the identifier may belong to another process.
        if isRunning { kill(0 - identifier, SIGTERM) }
    }

    @unsafe private static func spawn(
        _ loop: UnsafeMutablePointer<uv_loop_t>, _ process: UnsafeMutablePointer<uv_process_t>, _ words: CStringList,
        _ variables: CStringList, _ writingEnds: [CInt]
    ) -> CInt {
        var nothing = unsafe uv_stdio_container_t()
        unsafe nothing.flags = UV_IGNORE
        var streams = unsafe [nothing]
        for descriptor in writingEnds {
            var stream = unsafe uv_stdio_container_t()
            unsafe stream.flags = UV_INHERIT_FD
            unsafe stream.data.fd = descriptor
            unsafe streams.append(stream)
        }
        return unsafe streams.withUnsafeMutableBufferPointer { streams in
            var options = unsafe uv_process_options_t()
            unsafe options.file = UnsafePointer(words.pointers[0])
            unsafe options.args = words.pointers.baseAddress
            unsafe options.env = variables.pointers.baseAddress
            unsafe options.flags = UV_PROCESS_DETACHED.rawValue
            unsafe options.stdio_count = CInt(streams.count)
            unsafe options.stdio = streams.baseAddress
            unsafe options.exit_cb = { raw, status, signal in
                guard let child = unsafe owner(of: raw, as: ChildProcess.self) else { return }
                child.hasEnded(
                    signal == 0 ? .exited(status: CInt(truncatingIfNeeded: status)) : .killed(signal: signal))
            }
            return unsafe uv_spawn(loop, process, &options)
        }
    }

    fileprivate func hasWritten(_ bytes: Span<UInt8>, to stream: Stream) { onData(self, stream, bytes) }

    private func hasEnded(_ end: End) {
        isRunning = false
        selfReference = nil
        let outputs = outputs
        self.outputs = []
        for pipe in outputs { pipe.drain() }
        onEnd(self, end)
    }
}

/// The pipe for a child's output. It is not a socket, because a shell cannot open a socket as `/dev/stderr`.
@safe private final class OutputPipe {
    private let stream: ChildProcess.Stream
    private let handle: OwnedHandle
    private(set) var writingEnd: CInt
    private weak var child: ChildProcess?

    /// The largest number of bytes that are read after the child's end: twice the capacity of a pipe. A process that
    /// the child left behind may write for ever.
    private static let restByteCount = 131_072

    init(_ stream: ChildProcess.Stream, on loop: EventLoop, attempting attempt: String) throws(UVError) {
        self.stream = stream
        var ends: [CInt] = [-1, -1]
        let status = unsafe ends.withUnsafeMutableBufferPointer { ends in
            unsafe uv_pipe(ends.baseAddress, CInt(UV_NONBLOCK_PIPE.rawValue), 0)
        }
        try UVError.check(status, attempting: attempt)
        writingEnd = ends[1]
        let readingEnd = ends[0]
        do throws(UVError) {
            handle = try OwnedHandle(on: loop, attempting: attempt) { unsafe uv_pipe_init($0, $1, 0) }
        } catch {
            for end in ends { close(end) }
            throw error
        }
        // Opening a pipe that was just made cannot fail. The handle closes the descriptor.
        _ = unsafe uv_pipe_open(handle.pointer(as: uv_pipe_t.self), readingEnd)
        handle.setOwner(self)
    }

    deinit { closeWritingEnd() }

    func closeWritingEnd() {
        guard writingEnd >= 0 else { return }
        close(writingEnd)
        writingEnd = -1
    }

    func start(for child: ChildProcess) {
        self.child = child
        _ = unsafe uv_read_start(
            handle.pointer(as: uv_stream_t.self),
            { raw, _, buffer in
                guard let pipe = unsafe owner(of: raw, as: OutputPipe.self) else { return }
                let room = unsafe pipe.handle.loop.readBuffer
                unsafe buffer?.pointee = uv_buf_init(room.baseAddress, CUnsignedInt(room.count))
            },
            { raw, count, _ in
                // At an end or an error there is no more to read; the child's end is reported separately.
                guard count > 0, let pipe = unsafe owner(of: raw, as: OutputPipe.self) else { return }
                pipe.hasRead(count)
            })
    }

    /// Reads the pipe's content without waiting for its end, because another process may keep the writing end open.
    func drain() {
        unsafe uv_read_stop(handle.pointer(as: uv_stream_t.self))
        var descriptor: CInt = -1
        guard unsafe uv_fileno(handle.raw, &descriptor) == 0 else { return }
        let room = unsafe handle.loop.readBuffer
        var rest = Self.restByteCount
        while rest > 0 {
            let count = unsafe read(descriptor, room.baseAddress, min(rest, room.count))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest -= count
            hasRead(count)
        }
    }

    private func hasRead(_ count: Int) {
        guard let child else { return }
        let buffer = unsafe UnsafeBufferPointer(rebasing: handle.loop.readBuffer[..<count])
        unsafe buffer.withMemoryRebound(to: UInt8.self) { bytes in
            unsafe child.hasWritten(bytes.span, to: stream)
        }
    }
}

/// An array of C strings that ends with a null pointer.
@safe private final class CStringList {
    let pointers: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>

    init(_ texts: [String]) {
        unsafe pointers = .allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { unsafe pointers.initializeElement(at: index, to: strdup(text)) }
        unsafe pointers.initializeElement(at: texts.count, to: nil)
    }

    /// This process's environment with some changes.
    convenience init(changing changes: [String: String]) {
        var items: UnsafeMutablePointer<uv_env_item_t>?
        var count: CInt = 0
        var texts: [String] = []
        if unsafe uv_os_environ(&items, &count) == 0, let items = unsafe items {
            for index in 0..<Int(count) {
                let name = unsafe String(cString: items[index].name)
                if changes[name] == nil { unsafe texts.append("\(name)=\(String(cString: items[index].value))") }
            }
            unsafe uv_os_free_environ(items, count)
        }
        for (name, value) in changes { texts.append("\(name)=\(value)") }
        self.init(texts)
    }

    deinit {
        for index in unsafe pointers.indices { unsafe free(pointers[index]) }
        unsafe pointers.deallocate()
    }
}
