import Glibc
import TelltaleEventLoop
import TestSupport
import Testing

struct ChildProcessTests {
    /// The output of a shell command, and its end.
    private struct Outcome: Equatable, Sendable {
        var output = ""
        var error = ""
        var end: ChildProcess.End?
        var identifier: CInt = 0
    }

    private static func run(
        _ command: String, environment: [String: String] = [:],
        onData: @escaping @Sendable (ChildProcess) -> Void = { _ in }
    ) async throws -> Outcome {
        try await onLoop { loop in
            let outcome = Box(Outcome())
            let child = try ChildProcess("/bin/sh", ["-c", command], environment: environment, on: loop) {
                child, stream, bytes in
                var text: [UInt8] = []
                for index in bytes.indices { text.append(bytes[index]) }
                switch stream {
                case .output: outcome.value.output += String(decoding: text, as: UTF8.self)
                case .error: outcome.value.error += String(decoding: text, as: UTF8.self)
                }
                onData(child)
            } onEnd: { child, end in
                #expect(!child.isRunning && outcome.value.end == nil)
                outcome.value.end = end
                outcome.value.identifier = child.identifier
                loop.stop()
            }
            return { withExtendedLifetime(child) { outcome.value } }
        }
    }

    /// Whether every process of a group ends in time.
    private static func isGone(_ group: CInt) -> Bool {
        let deadline = EventLoop.monotonicMilliseconds() + Int64(patience * 1_000)
        while kill(0 - group, 0) == 0, EventLoop.monotonicMilliseconds() < deadline { sched_yield() }
        return kill(0 - group, 0) != 0
    }

    @Test func `the output of a child arrives, and then its end`() async throws {
        let outcome = try await Self.run(
            "echo $GREETING; echo there >/dev/stderr; exit 3", environment: ["GREETING": "hello"])
        #expect(outcome.output == "hello\n")
        #expect(outcome.error == "there\n")
        #expect(outcome.end == .exited(status: 3))
    }

    @Test func `a child has the environment of its parent with the given changes, and an empty input`() async throws {
        let outcome = try await Self.run(
            #"echo "$PATH"; cat; env | grep -c ^PATH="#, environment: ["PATH": "/bin:/usr/bin"])
        #expect(outcome.output == "/bin:/usr/bin\n1\n")
        let inherited = try await Self.run(#"echo "$PATH""#)
        let path = unsafe String(cString: getenv("PATH"))
        #expect(inherited.output == path + "\n")
    }

    @Test("All that it wrote comes before its end", arguments: [1, 65_536, 65_537, 1_000_000])
    func amount(byteCount: Int) async throws {
        let outcome = try await Self.run("head -c \(byteCount) /dev/zero | tr '\\0' x")
        #expect(outcome.output.utf8.count == byteCount)
        #expect(outcome.end == .exited(status: 0))
    }

    @Test("A process that a child leaves behind does not delay its end", arguments: ["", ">/dev/null 2>&1 </dev/null"])
    func leftBehind(redirection: String) async throws {
        let outcome = try await Self.run("sleep 86400 \(redirection) & echo left; exit 4")
        defer { kill(0 - outcome.identifier, SIGKILL) }
        #expect(outcome.output == "left\n")
        #expect(outcome.end == .exited(status: 4))
        #expect(kill(0 - outcome.identifier, 0) == 0, "it goes on")
    }

    @Test func `a process that is left behind and writes for ever does not keep the loop running`() async throws {
        let outcome = try await Self.run("yes & exit 0")
        #expect(outcome.end == .exited(status: 0))
        #expect(Self.isGone(outcome.identifier), "nobody has the pipe any more")
    }

    @Test func `terminating reaches all that it has begun`() async throws {
        let outcome = try await Self.run("sleep 600 & echo begun; wait") { child in child.terminate() }
        #expect(outcome.end == .killed(signal: SIGTERM))
        #expect(Self.isGone(outcome.identifier))
    }

    @Test func `a child inherits neither blocked nor ignored signals`() async throws {
        let outcome = try await onLoop { loop in
            // This process may have inherited blocked signals; the thread belongs to this test alone.
            var all = sigset_t()
            unsafe sigfillset(&all)
            unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
            let outcome = Box<[ChildProcess.End]>([])
            let child = try ChildProcess("/bin/sh", ["-c", "echo begun; sleep 600"], on: loop) { child, _, _ in
                child.terminate()
            } onEnd: { _, end in
                outcome.value.append(end)
                loop.stop()
            }
            return { withExtendedLifetime(child) { outcome.value } }
        }
        #expect(outcome == [.killed(signal: SIGTERM)])
        #expect(try await Self.run("yes | head -n 1").output == "y\n")
    }

    @Test func `a program that cannot be run is an error, and the loop goes on`() async throws {
        let answer = try await onLoop { loop in
            let answer = Box("")
            do throws(UVError) {
                _ = try ChildProcess("/nonexistent/program", [], on: loop, onData: { _, _, _ in }, onEnd: { _, _ in })
            } catch {
                answer.value = error.description
            }
            let timer = try TimerHandle(on: loop) { _ in loop.stop() }
            timer.schedule(afterMilliseconds: 0)
            return { withExtendedLifetime(timer) { answer.value } }
        }
        #expect(answer == "cannot run /nonexistent/program: no such file or directory (ENOENT)")
    }

    @Test func `a child without a handle is read to its end, and leaves nothing`() async throws {
        let heard = try await onLoop { loop in
            let heard = Box<[String]>([])
            _ = try ChildProcess("/bin/echo", ["hello"], on: loop) { _, _, bytes in
                heard.value.append("\(bytes.count) bytes")
            } onEnd: { child, end in
                heard.value.append("\(end)")
                // There is no such child of this process any more.
                heard.value.append("\(waitpid(child.identifier, nil, WNOHANG)) \(errno == ECHILD)")
                loop.stop()
            }
            return { heard.value }
        }
        #expect(heard == ["6 bytes", "exited(status: 0)", "-1 true"])
    }
}
