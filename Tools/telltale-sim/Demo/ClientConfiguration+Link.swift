package import TelltaleClient
package import ToolSupport

extension ClientConfiguration {
    /// The same, with the token and the encryption of `link`.
    package func through(_ link: DaemonLink) -> ClientConfiguration {
        var configuration = self
        configuration.token = link.token
        if link.isEncrypted { configuration.tls = ClientTLS(authorities: link.authorities) }
        return configuration
    }
}
