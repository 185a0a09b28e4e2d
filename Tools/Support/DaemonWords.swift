/// The daemon's words, and OpenSSL's, in those of a command line.
///
/// The daemon's messages are for those who type its protocol: their remedies are verbs and attributes. A user of a command has
/// options. ``complain(_:)`` translates whatever a command says on standard error.
enum DaemonWords {
    /// A phrase that contains another one stands before it.
    private static let remedies: [(wire: String, own: String)] = [
        ("say HELLO client=NAME token=TOKEN first", "name its file with --token-file FILE"),
        ("with HELLO account=NAME", "with --account NAME"),
        ("KINDS lists", "`telltale kinds` lists"),
        ("LIST shows", "`telltale list` shows"),
        ("which LIST tells", "which `telltale list` tells"),
        ("SET or PRESS it, EVT is for", "use `telltale set` or `telltale press`; `telltale post` is for"),
        (" do=remove takes it off", " remove` takes it off"),
        ("; TILE @", "; `telltale tile @"),
        ("TILE arranges it", "`telltale tile` arranges it"),
        ("TILE places", "`telltale tile` places"),
        ("unlock it (TRAIT locked=no)", "unlock it"),
    ]

    /// Why a server's certificate is not trusted: with another authority it may be.
    private static let untrusted = [
        "unable to get local issuer certificate", "unable to get issuer certificate", "self-signed certificate",
        "self-signed certificate in certificate chain", "unable to verify the first certificate",
    ]
    /// The error number of every failure of TLS.
    private static let number = ": protocol error (EPROTO)"

    static func translated(_ text: String) -> String {
        var text = remedies.reduce(text) { $0.replacing($1.wire, with: $1.own) }
        for reason in untrusted {
            text = text.replacing(reason + number, with: "\(reason) (--ca FILE names the authority that is trusted)")
        }
        return text.replacing(number, with: "")
    }
}
