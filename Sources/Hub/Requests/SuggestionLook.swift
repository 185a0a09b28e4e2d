internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// Prepares suggestions before a request that reads boards.
extension Hub {
    /// Assigns keys to the suggestions on the boards that a request reads.
    mutating func lookAtSuggestions(_ command: Command, _ session: Session) {
        guard store.hasBoards else { return }
        lookAtWaiting(command)
        lookAtVisits(command, session)
        guard store.suggestsWidgets else { return }
        let numbers: [Int32]
        switch command {
        case .get(let key, _, _), .open(let key, _), .list(.key(let key), _, _): numbers = board(of: key.kind)
        case .list(.kind(let name), _, _): numbers = board(of: name[...])
        case .list(.all, _, _):
            numbers = session.showsWidgets ? store.boardsWithSuggestions(of: session.account) : []
        case _: return
        }
        for number in numbers where store.lacksKeys(onBoard: number) {
            _ = store.updateSuggestions(onBoard: number)
        }
    }

    /// Re-examines the board that a request reads or follows, if that is pending.
    private mutating func lookAtWaiting(_ command: Command) {
        guard subscriptions.boardWalk.isUnderWay, let name = command.boardName,
            let number = store.kindNumber(of: name)
        else { return }
        subscriptions.lookAtWaiting(board: number, &store, &renderer, to: &sessions)
    }

    /// Assigns keys to the relevant widgets on the board that a request reads.
    private mutating func lookAtVisits(_ command: Command, _ session: Session) {
        guard store.hasVisitingKinds else { return }
        let name: Substring
        switch command {
        case .get(let key, _, _), .open(let key, _), .list(.key(let key), _, _): name = key.kind
        case .list(.kind(let kind), let view, _):
            guard (view ?? session.defaultView) == .surface(.watch) else { return }
            name = kind[...]
        case _: return
        }
        guard let number = store.kindNumber(of: name),
            !store.items(onBoard: number).isEmpty, !store.isVisited(number)
        else { return }
        store.lookAtVisits(onBoard: number)
        // Possibly nobody follows it, and many boards may be read.
        if let oldest = store.noteRead(board: number) { subscriptions.endReading(oldest, &store, &renderer) }
    }

    /// Whether a list of everything contains a widget.
    func shows(widget entity: EntityIndex, to session: Session) -> Bool {
        guard session.showsWidgets, let item = store.boardItem(at: entity), item.tile?.isSuggested == true else {
            return session.showsWidgets
        }
        return store.mayBeShown(suggestion: item, to: .allWithWidgets, account: session.account)
    }

    private func board(of name: Substring) -> [Int32] {
        guard let number = store.kindNumber(of: name), store.takesSuggestions(number) else {
            return []
        }
        return [number]
    }
}

extension Command {
    /// The name of the board that it reads or follows; `nil` = none.
    var boardName: Substring? {
        let name: Substring
        switch self {
        case .get(let key, _, _), .open(let key, _), .list(.key(let key), _, _): name = key.kind
        case .list(.kind(let kind), _, _): name = kind[...]
        case .subscribe(let subscribe):
            switch subscribe.pattern {
            case .key(let key): name = key.kind
            case .kind(let kind): name = kind[...]
            case .all: return nil
            }
        case _: return nil
        }
        return name.utf8.first == UInt8(ascii: "@") ? name : nil
    }
}
