extension ErrorCode {
    /// The meaning of the code in one sentence, for the published specification.
    public var summary: String {
        switch self {
        case .badLine:
            "no line by the grammar: a control byte, a byte order mark, no verb in front, or another protocol's"
        case .lineTooLong: "more bytes than `max_line` without a line ending"
        case .badUTF8: "bytes that are no UTF-8"
        case .badJSON: "the JSON tail is broken, no I-JSON, no object, or has a member of another type (`path`)"
        case .badAttribute:
            "an attribute is missing, stands twice, or has a value that it does not take; a word too many"
        case .badKey: "a key, or a kind, is missing or outside the grammar"
        case .badPattern: "a pattern is missing or outside the grammar"
        case .badCursor: "a cursor that no server gave"
        case .unknownVerb: "this server has no such verb"
        case .unknownKind: "no such kind is loaded"
        case .unknownKey: "there is no such activity or control, or this account does not see it"
        case .unknownSubscription: "this connection has no subscription of that number"
        case .tooLarge: "attributes and content together would be larger than the limit, or the tail has too many names"
        case .duplicateMismatch:
            "this source has used that `eid` for another event or tile, or this person for another tap"
        case .machineError: "the machine ran in circles or broke a limit; nothing changed"
        case .limitActivities:
            "a person has as many live activities as may be, of this app or in all; or as many accounts have dismissed the activity as may"
        case .limitSubscriptions: "this connection has as many subscriptions as may be"
        case .limitSources: "the server remembers event ids of as many sources as may be"
        case .limitAccounts: "there are activities for as many accounts as may be"
        case .limitKeys: "as many keys exist or are followed as may be"
        case .limitTiles: "the stack, the board, or the account has as many tiles or boards as may be"
        case .limitConnections: "the server, or this principal, has as many connections as may be"
        case .limitRate: "this principal has sent more requests than its rate allows; `wait` tells the pause in ms"
        case .authenticationRequired:
            "say who you are first; or the device is locked, and the control wants it unlocked"
        case .authenticationFailed: "the token is unknown, wrong, expired or revoked"
        case .forbidden:
            "this connection may not do that: it has no account, does not serve the kind, or has no scope for it (`need`)"
        case .staleRev: "the control, or the tile, has changed since the `if=` that was seen"
        case .unavailable: "nobody serves this control now"
        case .cooling: "the button was pressed a moment ago"
        case .badAction: "the key is another kind of thing than the verb is for"
        case .notOffered:
            "the place, or the surface, does not show that family of the widget, the tile cannot stand there, or no view offers the control now"
        case .storageFull: "the disk is full; reading goes on, and writing when there is room again"
        case .storageFailed: "the disk failed; the server ends"
        case .shuttingDown: "the server goes down; reconnect, and ask again"
        case .notLeader:
            "this node of a cluster is not its leader; `leader` tells the address of the one that is, if it is known"
        case .versionUnsupported: "this server does not speak that version of the protocol"
        case .internal: "a fault of the server"
        }
    }
}
