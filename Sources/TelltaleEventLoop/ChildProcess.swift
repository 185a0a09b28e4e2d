internal import CTelltaleLibuv
internal import Glibc

/// A program that runs beside the loop, in a session and a process group of its own, with nothing to read.
///
/// It keeps itself, and its loop, alive while it runs: somebody has to take note of its end, and the loop does. What it has
/// begun and left behind when it ends may go on, and is not waited for.
@safe public final class ChildProcess {
    public enum Stream: Sendable {
        case output, error
    }

    /// How it ended.
    public enum End: Hashable, Sendable {
        case exited(status: CInt)
        case killed(signal: CInt)
    }

    public typealias OnData = (ChildProcess, Stream, Span<UInt8>) -> Void
    public typealias OnEnd = (ChildProcess, End) -> Void

    /// The number of the process, and of its group.
    public let identifier: CInt
    public private(set) var isRunning = true

    private let handle: OwnedHandle
    private var outputs: [OutputPipe]
    private let onData: OnData
    private let onEnd: OnEnd
    /// What keeps it alive while it runs and nobody else does.
    private var itself: ChildProcess?

    /// - Parameters:
    ///   - path: The program. It is not looked for in `PATH`.
    ///   - environment: Beside what this process has, or instead of it.
    ///   - onData: Bytes that it wrote, at least 1 and at most ``EventLoop/readBufferByteCount``. They are gone
    ///     afterwards.
    ///   - onEnd: The last call, once. What the program itself wrote was told by then.
    /// - Throws: What the system answered: there is no such program, or no room for another process.
    /// - Precondition: There is no NUL in any of it.
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
        // On the loop even where the program could not be run, and to be closed then too.
        handle = try OwnedHandle(on: loop, attempting: attempt) { loop, process in
            status = unsafe Self.spawn(loop, process, words, variables, [output.writingEnd, error.writingEnd])
            return 0
        }
        // The child has them now: with another one open here there would never be an end.
        output.closeWritingEnd()
        error.closeWritingEnd()
        try UVError.check(status, attempting: attempt)
        identifier = unsafe uv_process_get_pid(handle.pointer(as: uv_process_t.self))
        outputs = [output, error]
        self.onData = onData
        self.onEnd = onEnd
        handle.setOwner(self)
        itself = self
        // How its end is heard of.
        SignalHandle.unblock(SIGCHLD)
        for pipe in outputs { pipe.start(for: self) }
    }

    /// Asks it to end, and with it everything that it has begun in its group. Harmless when it has ended.
    public func terminate() {
        // The number may be another one's then.
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
        itself = nil
        let outputs = outputs
        self.outputs = []
        for pipe in outputs { pipe.readWhatIsThere() }
        onEnd(self, end)
    }
}

/// What a child writes: this process reads, the child has the writing end. A pipe and no socket, which a shell's
/// `>/dev/stderr` could not open.
@safe private final class OutputPipe {
    private let stream: ChildProcess.Stream
    private let handle: OwnedHandle
    private(set) var writingEnd: CInt
    private weak var child: ChildProcess?

    /// At most so many bytes of what is there when the child has ended: twice what a pipe holds. Somebody whom it left
    /// behind may write for ever.
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
        // Of a pipe that was just made it takes the end for sure, and closes it with the handle.
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
                // An end or a fault: there is no more, and the child's own end tells the rest.
                guard count > 0, let pipe = unsafe owner(of: raw, as: OutputPipe.self) else { return }
                pipe.hasRead(count)
            })
    }

    /// Tells what the pipe holds, and waits for no end: whoever else has the writing end may keep it for long.
    func readWhatIsThere() {
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

/// Texts as C programs are given them: each with its NUL, and a null pointer behind the last one.
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
