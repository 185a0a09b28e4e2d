import ArgumentParser

/// The flags of a daemon of a cluster.
struct ClusterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The name of the cluster; without it the daemon is by itself.", valueName: "NAME"))
    var cluster: String?
    @Option(help: ArgumentHelp("The name of this node, which no other has.", valueName: "NAME"))
    var node: String?
    @Option(
        help: ArgumentHelp(
            "member: this node may lead; observer: it serves screens, never leads, and counts for no redundancy. (default: member)",
            valueName: "member|observer"))
    var role: String?
    @Option(help: ArgumentHelp("Where clients reach this node.", valueName: "HOST:PORT"))
    var advertise: String?
    @Option(
        help: ArgumentHelp(
            "The servers of the replicated log: nats://HOST:PORT or tls://HOST:PORT, with commas between; file:PATH for tests on one machine.",
            valueName: "URL,…"))
    var engine: [String] = []
    @Option(help: ArgumentHelp("The engine's credentials.", valueName: "FILE"))
    var engineCreds: String?
    @Option(
        help: ArgumentHelp(
            "The monitors of the engine's servers, which tell whether each syncs before it acknowledges.",
            valueName: "URL,…"))
    var engineMonitor: [String] = []
    @Option(
        help: ArgumentHelp(
            "proven: no node begins or leads while a server of the log says that it does not sync; trusted: you say that each does. (default: proven)",
            valueName: "proven|trusted"))
    var engineSync: String?
    @Option(
        help: ArgumentHelp(
            "A leader that proves nothing for so long is silent, and a standby that hears nothing of it tries to lead. (default: 3s)",
            valueName: "SPAN"))
    var lease: String?
    @Option(
        help: ArgumentHelp(
            "A leader that proves nothing for so long stands down; twice the lease at least. (default: 12s)",
            valueName: "SPAN"))
    var giveUp: String?
    @Option(
        help: ArgumentHelp(
            "The age of the newest base at which a node makes another one, for nodes that join. (default: 1h)",
            valueName: "SPAN"))
    var baseEvery: String?
    @Option(
        help: ArgumentHelp(
            "A log that is longer is purged before --retention allows it, up to the last base but one.",
            valueName: "MEBIBYTES"))
    var logLimit: String?
}
