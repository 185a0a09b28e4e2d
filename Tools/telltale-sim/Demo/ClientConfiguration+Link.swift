package import ArgumentParser
package import TelltaleClient
package import ToolSupport

extension ClientConfiguration {
    /// The same, with the token and the encryption of `link`. Of a cluster it is the leader: runs have providers, and some
    /// watch a leader's end.
    package func through(_ link: ToolClient) -> ClientConfiguration {
        var configuration = self
        configuration.token = link.token
        configuration.nodes = .leader
        if link.isEncrypted { configuration.tls = ClientTLS(authorities: link.authorities) }
        return configuration
    }
}

extension ExitCode {
    /// Says that no daemon is there.
    package static func absent(at link: ToolClient, _ reason: some CustomStringConvertible) -> ExitCode {
        complain("no daemon at \(link): \(reason)")
        return .noDaemon
    }
}
