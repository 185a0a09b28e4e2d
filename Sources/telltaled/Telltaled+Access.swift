import ArgumentParser
import Authenticator
import TelltaleEventLoop

// Reads the files of --auth and --tls-cert at the start. Their faults count as faults of the configuration.
extension Telltaled {
    static func loadPrincipals(_ configuration: Configuration) throws -> Principals? {
        guard let path = configuration.auth else { return nil }
        do throws(PrincipalFaults) {
            return try Principals(path)
        } catch {
            for fault in error.faults { complain("--auth \(fault)") }
            throw ExitCode(78)
        }
    }

    static func loadCertificate(_ configuration: Configuration) throws -> Certificate? {
        do throws(TLSContext.Failure) {
            return try Certificate(configuration)
        } catch {
            complain("\(error)")
            throw ExitCode(78)
        }
    }
}
