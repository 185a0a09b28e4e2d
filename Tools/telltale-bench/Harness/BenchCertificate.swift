import Foundation

/// A certificate that goes with a measurement, made by the `openssl` command.
enum BenchCertificate {
    /// - Returns: The arguments with which `telltaled` listens on any free port with TLS.
    static func listener(in folder: BenchFolder) throws -> [String] {
        let (certificate, key) = (folder.path + "/leaf.pem", folder.path + "/leaf.key.pem")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ServerProcess.StartFailure(description: "no certificate was made; is the openssl command there?")
        }
        return ["--listen", "tls://127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key]
    }
}
