import ArgumentParser

/// The flags that a first start needs, and who may connect.
struct ServingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The folder of the journal; made when it is not there.", valueName: "DIR"))
    var data: String?
    @Option(help: ArgumentHelp("The folder of the kind files.", valueName: "DIR"))
    var kinds: String?
    @Option(
        help: ArgumentHelp(
            "An address, tls:// or plain:// in front of one, or none. May be repeated. Port 0 is any free one. (default: 127.0.0.1:7878)",
            valueName: "HOST:PORT"))
    var listen: [String] = []
    @Option(help: ArgumentHelp("A Unix socket to listen on too.", valueName: "PATH"))
    var socket: String?
    @Option(help: ArgumentHelp("The mode of the socket's file. (default: 0600)", valueName: "0600|0660|0666"))
    var socketMode: String?
    @Option(
        help: ArgumentHelp(
            "The file of principals and their tokens (telltale token add makes one); without it no token is needed.",
            valueName: "FILE"))
    var auth: String?
    @Option(help: ArgumentHelp("The certificate chain of tls:// listeners, PEM.", valueName: "FILE"))
    var tlsCert: String?
    @Option(help: ArgumentHelp("The key of the certificate, PEM.", valueName: "FILE"))
    var tlsKey: String?
    @Flag(
        help: "For writing kinds: a saved file is in force at once, without a new version. Not for a cluster.")
    var dev = false
}

/// The flags of how a daemon works, by itself or in a cluster.
struct RunningOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How sure a commit is: full survives a power cut, normal a crash of the daemon, off neither. (default: full)",
            valueName: "full|normal|off"))
    var sync: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time between two writes to screens while busy; auto = 0 to 1 ms, as the load needs it. (default: auto)",
            valueName: "auto|SPAN"))
    var pace: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many times as fast as real time the kinds' clock runs, for demos and replays. (default: 1)",
            valueName: "N"))
    var clockSpeed: String?
    @Option(
        help: ArgumentHelp(
            "Where operators read /metrics, /healthz and /readyz; beyond this machine /metrics needs a token with the scope stats. (default: none)",
            valueName: "HOST:PORT"))
    var opsListen: String?
    @Option(help: ArgumentHelp("A configuration file.", valueName: "FILE"))
    var config: String?
    @Flag(help: "Read the configuration and the files that it names, say what is wrong, and end.")
    var checkConfig = false
    @Option(help: ArgumentHelp("debug, info, warning or error. (default: info)", valueName: "L"))
    var logLevel: String?
    @Option(help: ArgumentHelp("text or json. (default: text)", valueName: "F"))
    var logFormat: String?
}
