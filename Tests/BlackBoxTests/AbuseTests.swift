import Foundation
import Glibc
import TestSupport
import Testing

/// Peers that have no rights, at the real daemon with tokens and TLS.
@Suite(.serialized, .nightly)
struct AbuseTests {
    private struct Setup {
        let folder: TemporaryFolder
        let token: String
        let bridge: TLSBridge

        init() throws {
            folder = try TemporaryFolder()
            let file = folder.path("principals.json")
            let add = try RunningProgram(
                program("telltale"), ["token", "add", "watch", "--scope", "admin", "--auth", file])
            token = try #require(add.readToEnd().first)
            bridge = try TLSBridge("--auth", file, "--log-level", "debug")
        }

        /// Runs a script with TLS, PLAIN, CA and TOKEN. It says `ok`, or something else.
        func python(_ script: String) throws -> [String] {
            let lines = """
                import os, select, socket, ssl, time
                tls_port, plain_port, token = int(os.environ['TLS']), int(os.environ['PLAIN']), os.environ['TOKEN']
                context = ssl.create_default_context(cafile=os.environ['CA'])
                def raw(port): return socket.create_connection(('127.0.0.1', port))
                def connect(): return context.wrap_socket(raw(tls_port), server_hostname='localhost')
                class Client:
                    def __init__(self, s):
                        self.f = s.makefile('rw', newline='\\n'); self.s = s
                        self.greeting = self.f.readline()
                    def ask(self, line):
                        self.f.write(line + '\\n'); self.f.flush()
                        return self.f.readline().strip()
                def closes(s):
                    s.settimeout(\(Int(patience)))
                    try:
                        while s.recv(65536): pass
                    except ConnectionError: pass
                    except (socket.timeout, TimeoutError): return False
                    except ssl.SSLError: pass
                    return True
                calm = Client(connect())
                assert calm.ask('HELLO token=' + token).startswith('OK ')

                """
            let program = try RunningProgram(
                URL(filePath: "/usr/bin/env"), ["python3", "-c", lines + script],
                environment: [
                    "TLS": "\(bridge.tlsPort)", "PLAIN": "\(bridge.daemon.port)", "CA": bridge.authority,
                    "TOKEN": token,
                ])
            let output = program.readToEnd()
            #expect(program.waitForExit() == 0, "\(program.standardError)")
            return output
        }

        func end() {
            bridge.daemon.send(SIGTERM)
            #expect(bridge.daemon.waitForExit() == 0)
            #expect(!bridge.daemon.standardError.contains(token.suffix(43)))
        }
    }

    @Test
    func `half-open handshakes, silence and one byte a second end after ten seconds, and hold up nobody`()
        async throws
    {
        try await onOwnThread {
            let setup = try Setup()
            let lines = try setup.python(
                """
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                half = context.wrap_bio(incoming, outgoing, server_hostname='localhost')
                try: half.do_handshake()
                except ssl.SSLWantReadError: pass
                hello = outgoing.read()
                began = time.monotonic()
                peers = []
                for i in range(600):
                    s = raw(tls_port)
                    if i % 3 == 0: s.sendall(hello)
                    if i % 3 == 1: s.sendall(hello[:i % len(hello)])
                    peers.append(s)
                silent = [raw(plain_port) for _ in range(100)]
                trickle = raw(tls_port)
                worst = 0
                for i in range(400):
                    start = time.monotonic()
                    assert calm.ask(f'PING id={i}') == f'PONG id={i}'
                    worst = max(worst, time.monotonic() - start)
                for i in range(11):
                    try: trickle.send(hello[i:i + 1])
                    except ConnectionError: break
                    select.select([trickle], [], [], 1)
                    assert calm.ask('PING') == 'PONG'
                assert all(closes(s) for s in peers + silent + [trickle]), 'one is still open'
                assert time.monotonic() - began > 9
                assert calm.ask('PING') == 'PONG'
                print('ok', worst)
                """)
            #expect(lines.first?.hasPrefix("ok") == true, "\(lines)")
            setup.end()
        }
    }

    @Test func `garbage records end their own connection, and no other`() async throws {
        try await onOwnThread {
            let setup = try Setup()
            let lines = try setup.python(
                """
                import random
                random.seed(7)
                for i in range(120):
                    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                    tls = context.wrap_bio(incoming, outgoing, server_hostname='localhost')
                    s = raw(tls_port)
                    while True:
                        try:
                            tls.do_handshake()
                            s.sendall(outgoing.read())
                            break
                        except ssl.SSLWantReadError:
                            flight = bytearray(outgoing.read())
                            if i % 2:
                                for _ in range(1 + i % 4): flight[random.randrange(len(flight))] = random.randrange(256)
                            s.sendall(flight)
                            try: piece = s.recv(65536)
                            except ConnectionError: piece = b''
                            if not piece: break
                            incoming.write(piece)
                        except ssl.SSLError: break
                    if i % 2 == 0:
                        tls.write(b'PING id=1\\n' * 50)
                        record = bytearray(outgoing.read())
                        for _ in range(1 + i % 3): record[random.randrange(5, len(record))] ^= 1 + random.randrange(255)
                        s.sendall(record + bytes(random.randrange(256) for _ in range(i * 10)))
                        assert closes(s), 'a bad record is taken'
                    s.close()
                    assert calm.ask(f'PING id={i}') == f'PONG id={i}'
                print('ok')
                """)
            #expect(lines == ["ok"], "\(lines)")
            setup.end()
        }
    }

    @Test(arguments: ["plain_port, b''", "tls_port, b''", "tls_port, hello[:len(hello) - 1]"])
    func `a peer that has not said HELLO costs at most 4 KiB`(opening: String) async throws {
        try await onOwnThread {
            let setup = try Setup()
            // The first ones make tables grow, which the others share.
            let script = """
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                half = context.wrap_bio(incoming, outgoing, server_hostname='localhost')
                try: half.do_handshake()
                except ssl.SSLWantReadError: pass
                hello = outgoing.read()
                def resident():
                    lines = open('/proc/\(setup.bridge.daemon.identifier)/status').read().splitlines()
                    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith('VmRSS'))
                def connect(count):
                    peers = []
                    for _ in range(count):
                        port, bytes = \(opening)
                        s = raw(port)
                        if bytes: s.sendall(bytes)
                        peers.append(s)
                    assert calm.ask('PING') == 'PONG'
                    return peers
                first = connect(300)
                before = resident()
                peers = connect(1500)
                print((resident() - before) // len(peers))
                """
            let lines = try setup.python(script)
            let cost = try #require(lines.first.flatMap { Int($0) }, "\(lines)")
            #expect(cost <= 4_096, "\(cost) bytes a peer")
            setup.end()
        }
    }

    @Test func `a handshake that comes byte by byte is understood`() async throws {
        try await onOwnThread {
            let setup = try Setup()
            let lines = try setup.python(
                """
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                tls = context.wrap_bio(incoming, outgoing, server_hostname='localhost')
                s = raw(tls_port)
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                def run(step):
                    while True:
                        try: result = step()
                        except ssl.SSLWantReadError: result = None
                        for byte in outgoing.read(): s.sendall(bytes([byte]))
                        if result is not None: return result
                        incoming.write(s.recv(65536))
                run(lambda: tls.do_handshake() or True)
                print(run(lambda: tls.read(65536)).split()[0].decode())
                """)
            #expect(lines == ["TELLTALE"], "\(lines)")
            setup.end()
        }
    }

    @Test func `a peer without a token may have little waiting, and is not read further`() async throws {
        try await onOwnThread {
            let setup = try Setup()
            let before = setup.bridge.daemon.residentByteCount
            let lines = try setup.python(
                """
                peers = []
                for i in range(1000):
                    s = raw(plain_port)
                    s.setblocking(False)
                    # Requests that wait for the sync of others, and a line that does not end.
                    text = b'PING x=' + b'y' * 100 + b'\\n'
                    try: s.send(text * 600 if i % 2 else b'PING x=' + b'y' * 4000)
                    except BlockingIOError: pass
                    peers.append(s)
                assert calm.ask('PING') == 'PONG'
                print("ok")
                """)
            let cost = (setup.bridge.daemon.residentByteCount - before) / 1_000
            #expect(lines == ["ok"], "\(lines)")
            #expect(cost < 16_384, "\(cost) bytes a peer")
            setup.end()
        }
    }

    @Test func `renegotiation is refused, and a browser inside TLS is cut`() async throws {
        try await onOwnThread {
            let setup = try Setup()
            let openssl = try RunningProgram(
                URL(filePath: "/bin/sh"),
                [
                    "-c",
                    // Behind the greeting, for a client that is asked to renegotiate takes no lines.
                    """
                    cd \(setup.folder.url.path) && mkfifo in
                    timeout \(Int(patience)) openssl s_client -tls1_2 -connect 127.0.0.1:\(setup.bridge.tlsPort) \
                        -CAfile \(setup.bridge.authority) <in >out 2>&1 &
                    exec 3>in
                    tries=0
                    until grep -q '^TELLTALE ' out || [ $((tries += 1)) -gt 2400 ]; do sleep 0.05; done
                    echo R >&3
                    exec 3>&-
                    wait
                    cat out
                    """,
                ])
            let text = openssl.readToEnd().joined(separator: "\n")
            #expect(text.contains("RENEGOTIATING") && text.contains("no renegotiation"), "\(text.suffix(600))")
            let lines = try setup.python(
                """
                s = connect()
                s.sendall(b'POST / HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 40\\r\\n\\r\\nHELLO token=' + token.encode() + b'\\n')
                f = s.makefile('r', newline='\\n')
                lines = f.read().splitlines()
                assert len(lines) == 2 and ' fatal=1 ' in lines[1] and token not in lines[1], lines
                print('ok')
                """)
            #expect(lines == ["ok"], "\(lines)")
            setup.end()
        }
    }

    @Test func `a token is in no argument, no answer, no history and no log`() async throws {
        try await onOwnThread {
            let setup = try Setup()
            let secret = String(setup.token.suffix(43))
            try setup.token.write(toFile: setup.folder.path("token"), atomically: true, encoding: .utf8)
            let watch = try RunningProgram(
                program("telltale"),
                [
                    "watch", "--connect", "tls://localhost:\(setup.bridge.tlsPort)", "--ca", setup.bridge.authority,
                    "--token-file", setup.folder.path("token"), "--json",
                ])
            let lines = try setup.python(
                """
                answers = [calm.ask('EVT coffee-order/1 type=start'), calm.ask('STATS'), calm.ask('HELLO token=' + token)]
                answers += [calm.ask('HISTORY coffee-order/1'), calm.f.readline()]
                answers.append(calm.ask(token)); print('\\n'.join(answers))
                """)
            #expect(watch.readLine() != nil, "\(watch.standardError)")
            for identifier in [watch.identifier] {
                let words = try Data(contentsOf: URL(filePath: "/proc/\(identifier)/cmdline"))
                #expect(!String(decoding: words, as: UTF8.self).contains(secret))
            }
            watch.kill()
            #expect(lines.count >= 6 && !lines.joined().contains(secret), "\(lines)")
            setup.end()
        }
    }
}
