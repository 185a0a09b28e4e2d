internal import TelltaleModel

/// The streams of a cluster.
enum Purpose: CaseIterable {
    /// The log.
    case log
    /// The checkpoints, which nodes that join load.
    case base
    /// The newest heartbeat of each node; in memory.
    case beat

    func stream(_ names: Names) -> String {
        switch self {
        case .log: names.log
        case .base: names.checkpoint
        case .beat: names.heartbeat
        }
    }

    private func subjects(_ names: Names) -> String {
        switch self {
        case .log: names.logSubject
        case .base: names.checkpointSubjects
        case .beat: names.heartbeatSubjects
        }
    }

    /// The configuration to create the stream with. Names need no escaping.
    func configuration(_ names: Names) -> String {
        let perSubject = self == .beat ? 1 : -1
        return """
            {"name":"\(stream(names))","subjects":["\(subjects(names))"],"retention":"limits",\
            "storage":"file","num_replicas":\(NATSLogConfiguration.replicaCount),\
            "discard":"\(self == .beat ? "old" : "new")","max_msgs":-1,"max_bytes":-1,"max_age":0,"max_msg_size":-1,\
            "max_msgs_per_subject":\(perSubject),"allow_direct":true,"deny_delete":\(self != .beat)}
            """
    }

    /// The relevant differences between an existing stream and one that this node would create.
    func faults(of answer: NATSAnswer, names: Names) -> [String] {
        let name = stream(names)
        guard let config = answer["config"]?.object else { return ["the stream \(name) has no configuration"] }
        var faults: [String] = []
        func expect(_ isRight: Bool, _ text: String) {
            if !isRight { faults.append("the stream \(name) \(text)") }
        }
        let replicas = config["num_replicas"]?.integer ?? 1
        expect(
            replicas >= Int64(NATSLogConfiguration.replicaCount),
            "has \(replicas) replica\(replicas == 1 ? "" : "s"), and needs \(NATSLogConfiguration.replicaCount)")
        expect(
            config["subjects"]?.array?.compactMap(\.string) == [subjects(names)],
            "does not take the subject \(subjects(names)) alone: it is another cluster's")
        expect(config["allow_direct"]?.bool == true, "allows no direct reads (allow_direct)")
        expect(config["mirror"] == nil && (config["sources"]?.array ?? []).isEmpty, "copies another stream")
        expect(config["sealed"]?.bool != true, "is sealed")
        expect(config["no_ack"]?.bool != true, "acknowledges nothing (no_ack)")
        let longest = config["max_msg_size"]?.integer ?? -1
        expect(
            longest <= 0 || longest >= Int64(NATSLogConfiguration.messageByteCount),
            "takes messages of at most \(longest) bytes (max_msg_size), and needs \(NATSLogConfiguration.messageByteCount)"
        )
        guard self != .beat else { return faults }
        expect(config["storage"]?.string == "file", "is not on disk (storage)")
        expect(
            config["retention"]?.string == "limits" && (config["max_age"]?.integer ?? 0) == 0
                && (config["max_msgs_per_subject"]?.integer ?? -1) <= 0 && config["discard"]?.string == "new",
            "forgets messages by itself (retention, discard, max_age, max_msgs_per_subject)")
        expect(config["subject_transform"] == nil, "changes subjects")
        return faults
    }
}
