import Glibc
import TelltaleEventLoop
import TestSupport
import Testing

struct TimerTests {
    @Test func `timers expire in the order of their deadlines, not of their making`() async throws {
        let order = try await onLoop { loop in
            let order = Box<[Int]>([])
            let timers = try [30, 10, 20, 0].map { delay in
                let timer = try TimerHandle(on: loop) { _ in
                    order.value.append(delay)
                    if order.value.count == 4 { loop.stop() }
                }
                timer.schedule(afterMilliseconds: Int64(delay))
                return timer
            }
            return { withExtendedLifetime(timers) { order.value } }
        }
        #expect(order == [0, 10, 20, 30])
    }

    @Test func `a timer is never early, and takes any deadline`() async throws {
        let early = try await onLoop { loop in
            let deadline = loop.monotonicMilliseconds + 20
            let early = Box<Int64>(0)
            let timer = try TimerHandle(on: loop) { _ in
                early.value = deadline - loop.monotonicMilliseconds
                loop.stop()
            }
            timer.schedule(atMonotonicMilliseconds: .max)
            timer.schedule(afterMilliseconds: .max)
            timer.schedule(afterMilliseconds: .min)
            timer.schedule(atMonotonicMilliseconds: .min)
            timer.schedule(atMonotonicMilliseconds: deadline)
            return { withExtendedLifetime(timer) { early.value } }
        }
        #expect(early <= 0)
    }

    @Test func `a timer that was cancelled or dropped does not expire`() async throws {
        let expired = try await onLoop { loop in
            let expired = Box<[String]>([])
            let cancelled = try TimerHandle(on: loop) { _ in expired.value.append("cancelled") }
            cancelled.schedule(afterMilliseconds: 5)
            cancelled.cancel()
            #expect(!cancelled.isScheduled)
            let dropped = try TimerHandle(on: loop) { _ in expired.value.append("dropped") }
            dropped.schedule(afterMilliseconds: 5)
            _ = consume dropped
            let end = try TimerHandle(on: loop) { _ in loop.stop() }
            end.schedule(afterMilliseconds: 30)
            return { withExtendedLifetime((cancelled, end)) { expired.value } }
        }
        #expect(expired.isEmpty)
    }

    @Test func `a repeating timer repeats until it is cancelled`() async throws {
        let count = try await onLoop { loop in
            let count = Box(0)
            let timer = try TimerHandle(on: loop) { timer in
                count.value += 1
                if count.value == 3 {
                    timer.cancel()
                    loop.stop()
                }
            }
            timer.scheduleRepeating(everyMilliseconds: 1)
            return { withExtendedLifetime(timer) { count.value } }
        }
        #expect(count == 3)
    }

    @Test func `a timer that is always due again does not keep the loop from its turn`() async throws {
        let count = try await onLoop { loop in
            let count = Box(0)
            let timer = try TimerHandle(on: loop) { timer in
                count.value += 1
                // Far more often than one turn could: then it is the timer's own doing.
                if count.value < 1000 { timer.schedule(atMonotonicMilliseconds: 0) }
            }
            timer.schedule(atMonotonicMilliseconds: 0)
            let check = try CheckHandle(on: loop) { if count.value > 0 { loop.stop() } }
            return { withExtendedLifetime((timer, check)) { count.value } }
        }
        #expect(count < 10)
    }

    @Test func `a precise timer is never early, and takes any deadline`() async throws {
        let late = try await onLoop { loop in
            let deadline = EventLoop.monotonicNanoseconds() + 2_300_000
            let late = Box<Int64>(.min)
            let timer = try PreciseTimerHandle(on: loop) {
                late.value = EventLoop.monotonicNanoseconds() - deadline
                loop.stop()
            }
            for other in [Int64.max, .min, 0, deadline, deadline] { timer.schedule(atMonotonicNanoseconds: other) }
            return { withExtendedLifetime(timer) { late.value } }
        }
        #expect(late >= 0)
    }

    @Test func `a precise timer is scheduled from its own expiry, more often than milliseconds pass`() async throws {
        let expiries = try await onLoop { loop in
            let expiries = Box<[Int64]>([])
            let holder = Box<PreciseTimerHandle?>(nil)
            holder.value = try PreciseTimerHandle(on: loop) {
                let now = EventLoop.monotonicNanoseconds()
                expiries.value.append(now)
                if expiries.value.count < 2_000 {
                    holder.value?.schedule(atMonotonicNanoseconds: now + 100_000)
                } else {
                    holder.value = nil
                    loop.stop()
                }
            }
            holder.value?.schedule(atMonotonicNanoseconds: EventLoop.monotonicNanoseconds() + 100_000)
            return { expiries.value }
        }
        let pauses = zip(expiries, expiries.dropFirst()).map { $1 - $0 }
        #expect(pauses.count == 1_999 && pauses.allSatisfy { $0 >= 100_000 })
        // A timer of whole milliseconds never expires twice in one of them.
        let milliseconds = expiries.map { $0 / 1_000_000 }
        #expect(zip(milliseconds, milliseconds.dropFirst()).contains { $0 == $1 })
    }

    @Test func `a precise timer holds the loop while it is scheduled, and none that was dropped`() async throws {
        let (expiries, isHeld) = try await onOwnThread {
            let loop = try EventLoop()
            var (expiries, isHeld) = (0, [Bool]())
            func timer() throws -> PreciseTimerHandle { try PreciseTimerHandle(on: loop) { expiries += 1 } }
            let kept = try timer()
            isHeld.append(loop.run(.withoutWaiting))
            let dropped = try timer()
            dropped.schedule(atMonotonicNanoseconds: 1)
            _ = consume dropped
            kept.schedule(atMonotonicNanoseconds: EventLoop.monotonicNanoseconds() + 100_000)
            isHeld.append(kept.isScheduled)
            let end = loop.monotonicMilliseconds + Int64(patience * 1_000)
            while expiries == 0, loop.monotonicMilliseconds < end { loop.run(.withoutWaiting) }
            isHeld.append(loop.run(.withoutWaiting))
            isHeld.append(kept.isScheduled)
            return (expiries, isHeld)
        }
        #expect(expiries == 1)
        #expect(isHeld == [false, true, false, false])
    }

    @Test func `a turn is: idle, prepare, the sockets, check`() async throws {
        let order = try await onLoop { loop in
            let order = Box<[String]>([])
            let prepare = try PrepareHandle(on: loop) { order.value.append("prepare") }
            let check = try CheckHandle(on: loop) {
                order.value.append("check")
                loop.stop()
            }
            let idle = try IdleHandle(on: loop) { _ in order.value.append("idle") }
            idle.start()
            return { withExtendedLifetime((prepare, check, idle)) { order.value } }
        }
        #expect(order == ["idle", "prepare", "check"])
    }

    @Test func `a signal arrives on the loop`() async throws {
        let count = try await onLoop { loop in
            let count = Box(0)
            let signal = try SignalHandle(.userDefined1, on: loop) {
                count.value += 1
                loop.stop()
            }
            kill(getpid(), SIGUSR1)
            return { withExtendedLifetime(signal) { count.value } }
        }
        #expect(count == 1)
    }

    @Test func `a signal's default action can be let happen, and the signal is handled again afterwards`() async throws
    {
        let heard = try await onLoop { loop in
            let heard = Box<[String]>([])
            let signal = Box<SignalHandle?>(nil)
            signal.value = try SignalHandle(.windowChanged, on: loop) {
                heard.value.append("heard")
                if heard.value.count > 1 { return loop.stop() }
                // Nothing, of this one.
                signal.value?.actByDefault()
                heard.value.append("done")
                kill(getpid(), SIGWINCH)
            }
            kill(getpid(), SIGWINCH)
            return { withExtendedLifetime(signal) { heard.value } }
        }
        #expect(heard == ["heard", "done", "heard"])
    }

    @Test func `the sleepless clock counts the time of the other one, and the machine's sleep`() {
        let before = EventLoop.monotonicMilliseconds()
        // Each is cut to whole milliseconds by itself.
        #expect(EventLoop.sleeplessMilliseconds() >= before - 1)
    }

    @Test func `the wall clock counts from 1970`() {
        #expect(EventLoop.wallClockMilliseconds() > 1_700_000_000_000)
    }
}

struct MailboxTests {
    @Test func `every message of every thread arrives once, each thread's in order`() async throws {
        let received = try await onLoop { loop in
            let received = Box<[[Int]]>(Array(repeating: [], count: 4))
            let mailbox = try Mailbox<(thread: Int, number: Int)>(on: loop) { messages in
                for message in messages { received.value[message.thread].append(message.number) }
                if received.value.allSatisfy({ $0.count == 10_000 }) { loop.stop() }
            }
            for thread in 0..<4 {
                let sender = mailbox.sender
                _ = JoinableThread {
                    for number in 0..<10_000 { sender.post((thread: thread, number: number)) }
                }
            }
            return { withExtendedLifetime(mailbox) { received.value } }
        }
        #expect(received == Array(repeating: Array(0..<10_000), count: 4))
    }

    @Test func `posting to a mailbox that is gone is refused`() async throws {
        let answers = try await onLoop { loop in
            var mailbox: Mailbox<Int>? = try Mailbox(on: loop) { _ in }
            let sender = try #require(mailbox?.sender)
            let before = sender.post(1)
            mailbox = nil
            loop.stop()
            return { [before, sender.post(2)] }
        }
        #expect(answers == [true, false])
    }
}
