/// A bug that the simulation plants, to see that the checkers find it.
///
/// Each stands for a mistake that a daemon could make. It is made in the simulated environment and on its wires, so the
/// daemon's own code is unchanged.
public enum SeededBug: String, CaseIterable, Sendable {
    // The shell.
    case replyBeforeSync, fullDiskAcknowledged, recordsLost, restartForgotten, halfCloseHangsUp, neverWritable
    case timersLate, controlTimersForgotten, prunedTooMuch, snapshotAhead
    case timersLostAtRestart, leapForgotten, slowReaderCut, stuckReaderKept
    // The file of principals, read wrongly.
    case revocationUnread, expiryForgotten, actUnchecked, keyTakenForKind, accountLostAtRestart, rateForgotten
    case grownRightsTaken
    // The turn, performed wrongly.
    case failedSyncAcknowledged, drainNeverEnds, resumeForgotten, pauseIgnored, partLost, paceForgotten
    case neighbourWritten, decidesAfterFailure, stopSkipsSnapshot, restOfFlushDropped
    // Bugs of decisions.
    case timerNotCancelled, staleForgotten, lingerForgotten, milestoneUnmarked, timeoutForgotten, cooldownForgotten
    case pressRepeated
    case attachmentForgotten, attachmentMisplaced
    // Bugs of output.
    case deletionDropped, rowDropped, rowRepeated, milestoneDropped, replyDropped, repliesSwapped, liveDropped
    case bodyChanged, revTooHigh, cursorAhead, cursorBehind, duplicateAppliedAgain, snapshotRowDropped, verdictWrong
    case alertConflated, alertRepeated, cursorIsRev, rowsQueued, farewellUntold
    // Bugs of input.
    case eventIDForgotten, resumeFromNewest, oldAnswerAccepted, byteLost, accountForgotten, audienceForgotten
    // Bugs of widgets.
    case usedUpRowDropped, rowWithoutEnd, entryDropped, entryTooSoon, stalenessUntold, placeholderKept,
        widgetStaleMisread
    case foresightLost, foreseenTold, conditionUnread, endedCounted, tallyMisread
    case screenUnread, unitMisread, burstMisread, budgetOff, heldRowDropped, screenOnForgotten
    case noticeDropped, noticeRepeated, deliveryIgnored
    case askDropped, askRepeated, askMisdirected, askFloorUnread, askTimeoutForgotten
    case capabilityUnread, aheadIgnored, familyIgnored, lockUnread, versionUnread, reloadForgotten
    // Bugs of boards.
    case holdForgotten, turnLate, turnForgotten, topMisread, neighbourUntold, turnSkippedAtResume, watchOrderForgotten
    case tileLostInSnapshot, removedTileKept, positionKept, pinLostAtRestart, unavailableUntold, tileRevBehindWidget
    case boardLimitMisread, tileConditionUnread, tileIDForgotten, boardShownToOthers, smartMisread
    case suggestionUntold, suggestionKept, suggestionEndUntold, suggestionRenamed, suggestionUnwanted, placeUnread
    case keepForgotten
    // Bugs of walks over many keys, and of what comes and goes by itself.
    case walkSkipsKey, walkRepeatsKey, walkEndsWithBatch, walkSkipsBoard
    case visitToldToOthers, visitKept, deletionOfOthersTold

    public var summary: String {
        switch self {
        case .replyBeforeSync: "replies leave before the sync returns"
        case .fullDiskAcknowledged: "what a full disk refused is acknowledged"
        case .recordsLost: "a crash loses acknowledged records"
        case .restartForgotten: "what was in flight at a restart stays in flight"
        case .halfCloseHangsUp: "a half-close is taken for a disconnect"
        case .neverWritable: "a slow reader that catches up is forgotten"
        case .timersLate: "timers fire when something else happens"
        case .controlTimersForgotten: "operations of controls never time out"
        case .prunedTooMuch: "a snapshot takes every older record with it"
        case .snapshotAhead: "a snapshot claims one record more than it holds"
        case .timersLostAtRestart: "deadlines of before a restart are not armed"
        case .leapForgotten: "a clock that is set ahead ends operations before their time"
        case .slowReaderCut: "a reader that is slow is taken for one that is stuck"
        case .stuckReaderKept: "a reader that takes nothing is kept for ever"
        case .revocationUnread: "a revoked token goes on, and its connection keeps following"
        case .expiryForgotten: "a token that has expired goes on"
        case .actUnchecked: "the right to act is not looked at"
        case .keyTakenForKind: "the right to read one key is taken for its kind's"
        case .accountLostAtRestart: "after a restart, a resume is not held to the account of its principal"
        case .rateForgotten: "the rate of a principal is not held"
        case .grownRightsTaken: "rights that grew end a connection"
        case .failedSyncAcknowledged: "a failed sync is taken for a good one"
        case .drainNeverEnds: "a stop waits for ever for readers that take nothing"
        case .resumeForgotten: "a connection that was paused is never read from again"
        case .pauseIgnored: "a connection is read from although it is paused"
        case .partLost: "a part of a batch is not given to the journal"
        case .paceForgotten: "the timer of the pace comes late"
        case .neighbourWritten: "a session is written what the one rendered before it is due"
        case .restOfFlushDropped: "a flush that ends early forgets the sessions that it has not come to"
        case .decidesAfterFailure: "the daemon goes on after a failed sync"
        case .stopSkipsSnapshot: "a stop ends without its last snapshot"
        case .timerNotCancelled: "a timer goes on when its state has been left"
        case .staleForgotten: "an order does not go stale"
        case .lingerForgotten: "an order that ended leaves too early"
        case .milestoneUnmarked: "a milestone is not announced"
        case .timeoutForgotten: "an operation waits for hours"
        case .cooldownForgotten: "a button that is cooling down is pressed"
        case .pressRepeated: "a press is asked for again when its provider leaves"
        case .attachmentForgotten: "an order's own control is not there"
        case .attachmentMisplaced: "a control belongs to an order that is not there"
        case .audienceForgotten: "an order, and the control that belongs to it, is shown to every account"
        case .alertConflated: "an alert is folded into a later row"
        case .alertRepeated: "an alert is told again"
        case .cursorIsRev: "a row's own rev is given as the cursor"
        case .rowsQueued: "rows are queued, and not their keys"
        case .farewellUntold: "what happens to an order as it leaves is not told to its own people"
        case .accountForgotten: "a device is shown what is another person's"
        case .deletionDropped: "a deletion is not told"
        case .rowDropped: "a row is not told"
        case .rowRepeated: "an old row is told again"
        case .milestoneDropped: "a milestone is folded"
        case .replyDropped: "a reply is forgotten"
        case .repliesSwapped: "two replies change places"
        case .liveDropped: "LIVE is not said"
        case .bodyChanged: "a row has two bodies for one rev"
        case .revTooHigh: "a row has a rev that is not durable"
        case .cursorAhead: "a cursor is ahead of what was sent"
        case .cursorBehind: "a cursor goes back"
        case .duplicateAppliedAgain: "a duplicate is said to be applied"
        case .snapshotRowDropped: "a snapshot lacks a row"
        case .verdictWrong: "what was applied is said to be a duplicate of another rev"
        case .eventIDForgotten: "an event's id is not looked at"
        case .resumeFromNewest: "a resume begins at the newest commit"
        case .oldAnswerAccepted: "an answer of another operation is accepted"
        case .usedUpRowDropped: "a widget's row is not followed by another when its entries are used up"
        case .rowWithoutEnd: "a widget's row comes again as it was"
        case .entryDropped: "a widget's row lacks its last entry"
        case .entryTooSoon: "an entry of a widget has a date that is too early"
        case .stalenessUntold: "a widget's content is not said to be out of date"
        case .placeholderKept: "a widget with content is shown as a placeholder"
        case .widgetStaleMisread: "a widget's content counts as current for too long"
        case .foresightLost: "a widget's row tells what an order is, and not what it will be"
        case .foreseenTold: "a widget's row comes again when a deadline comes that was foreseen"
        case .conditionUnread: "a widget shows orders for which its condition does not hold"
        case .endedCounted: "a widget that counts orders counts those that have ended"
        case .tallyMisread: "a widget's tally grows when an order comes into another state"
        case .screenUnread: "a device whose screen is off is taken for one whose screen is on"
        case .unitMisread: "each connection of a device has a budget of its own"
        case .burstMisread: "a device is sent more rows of a widget at once than its budget"
        case .budgetOff: "the budget of rows of widgets is off"
        case .heldRowDropped: "a row of a widget that waited for a budget is not sent"
        case .screenOnForgotten: "what waited for a budget goes on waiting when the screen goes on"
        case .capabilityUnread: "a client of before is sent widgets"
        case .aheadIgnored: "a widget's row has more entries than were asked for"
        case .familyIgnored: "a widget is drawn in another family than the one asked for"
        case .lockUnread: "a locked device is sent what is private"
        case .askDropped: "a widget's provider is not asked"
        case .askRepeated: "a widget's provider is asked twice for one operation"
        case .askMisdirected: "a late answer is taken for that of the newest ask of a widget"
        case .askFloorUnread: "a widget asks its provider again too soon"
        case .askTimeoutForgotten: "an ask of a widget that is not answered is not given up"
        case .noticeDropped: "a reader that is told of changes is not told of one"
        case .noticeRepeated: "a change is told again before the reader has read"
        case .deliveryIgnored: "a reader that wants no rows is sent them"
        case .versionUnread: "an older timeline replaces a newer one"
        case .reloadForgotten: "edited kinds do not take effect"
        case .holdForgotten: "a stack does not keep the tile that a person chose"
        case .turnLate: "a row tells the next turn of its stack too late"
        case .turnForgotten: "a row does not tell the last turn of its stack"
        case .topMisread: "a tile is said to be on top of its stack, and another one is"
        case .neighbourUntold: "a change of one tile turns its stack, and the rows of the others do not tell"
        case .turnSkippedAtResume: "a resume skips the tiles of stacks"
        case .watchOrderForgotten: "a watch is not told the order of its widgets that comes"
        case .tileLostInSnapshot: "a snapshot of a board lacks a tile"
        case .removedTileKept: "a tile that was removed is not deleted on screens"
        case .positionKept: "a tile that was moved is told with its former position"
        case .pinLostAtRestart: "a restart forgets which tiles are pinned"
        case .unavailableUntold: "a tile whose kind is gone is shown as if it were there"
        case .tileRevBehindWidget: "a row of a tile has a rev that is older than its widget's"
        case .boardLimitMisread: "a board takes one tile more than its limit"
        case .tileConditionUnread: "the rev that a person saw of a tile is not looked at"
        case .tileIDForgotten: "the event id of a request about a tile is not looked at"
        case .boardShownToOthers: "a board is shown to another account"
        case .smartMisread: "a stack that is not to turn turns"
        case .suggestionUntold: "a tile that a stack suggests is not told"
        case .suggestionKept: "a suggestion that is over is not deleted on screens"
        case .suggestionEndUntold: "a row of a suggestion does not tell when it goes"
        case .suggestionRenamed: "a restart gives suggestions other ids"
        case .suggestionUnwanted: "a stack suggests a widget whose kind does not say that it may"
        case .placeUnread: "a device that is on its way is taken for one that is at home"
        case .keepForgotten: "a suggestion that was kept is still told as one"
        case .walkSkipsKey: "a reload of all leaves a key out, and counts it"
        case .walkRepeatsKey: "a reload of all meets a key twice"
        case .walkEndsWithBatch: "a provider that comes is asked for the first of its keys alone"
        case .walkSkipsBoard: "a widget that comes for everybody is not told on one of the boards"
        case .visitToldToOthers: "what comes by itself for one account is shown on another one's board"
        case .visitKept: "what came by itself and is over is not deleted on screens"
        case .deletionOfOthersTold: "a device that resumes is told that what was another account's is gone"
        case .byteLost: "a byte is lost between two pieces"
        }
    }
}
