import Foundation
import TestSupport
import Testing

/// A daemon that speaks TLS, and a plain port that Python's `ssl` carries to it: tests that speak in plain run over TLS.
final class TLSBridge {
    let daemon: DaemonProcess
    /// Speaks in plain.
    let port: UInt16
    /// Speaks TLS.
    let tlsPort: UInt16
    let folder: TemporaryFolder
    var authority: String { folder.path("ca.pem") }
    private let bridge: RunningProgram

    private static let script = """
        import socket, ssl, sys, threading
        context = ssl.create_default_context(cafile=sys.argv[2])
        listener = socket.create_server(('127.0.0.1', 0), backlog=128)
        print(listener.getsockname()[1], flush=True)

        def serve(plain):
            # One lock for a connection of TLS, which two threads may not use at once.
            lock = threading.Lock()
            try:
                tls = context.wrap_socket(socket.create_connection(('127.0.0.1', int(sys.argv[1]))), server_hostname='localhost')
            except OSError:
                return plain.close()
            tls.setblocking(False)
            def receive():
                while True:
                    with lock:
                        try: return tls.recv(65536)
                        except ssl.SSLWantReadError: pass
                        except OSError: return b''
                    select(tls, False)
            def send(bytes):
                while bytes:
                    with lock:
                        try: bytes = bytes[tls.send(bytes):]; continue
                        except (ssl.SSLWantWriteError, ssl.SSLWantReadError): pass
                    select(tls, True)
            def select(s, writes):
                import select
                select.select([s], [s] if writes else [], [], 5)
            def back():
                try:
                    while piece := receive(): plain.sendall(piece)
                except OSError: pass
                try: plain.shutdown(socket.SHUT_RDWR)
                except OSError: pass
            threading.Thread(target=back, daemon=True).start()
            try:
                while piece := plain.recv(65536): send(piece)
            except OSError: pass
            tls.close(); plain.close()

        while True:
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(plain,), daemon=True).start()
        """

    init(_ arguments: String...) throws {
        folder = try TemporaryFolder()
        let certificates = try RunningProgram(
            repository.appending(path: "Tools/package/dev-certificates"), [folder.url.path])
        try #require(certificates.waitForExit() == 0, "\(certificates.standardError)")
        daemon = try DaemonProcess(
            [
                "--listen", "tls://127.0.0.1:0", "--tls-cert", folder.path("leaf.pem"), "--tls-key",
                folder.path("leaf.key.pem"),
            ] + arguments)
        let tlsPort = try #require(daemon.ready["tls"]?.split(separator: ":").last.flatMap { UInt16($0) })
        self.tlsPort = tlsPort
        bridge = try RunningProgram(
            URL(filePath: "/usr/bin/env"), ["python3", "-c", Self.script, "\(tlsPort)", folder.path("ca.pem")])
        port = try #require(bridge.readLine().flatMap { UInt16($0) }, "\(bridge.standardError)")
    }

    deinit {
        bridge.kill()
    }
}
