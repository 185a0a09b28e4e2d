/// A bug that is planted in the performer of a push ledger, to see that the checks find it. The ledger's own code is unchanged.
public enum PushBug: String, PlantedBug {
    case sendsFirst = "a push leaves before what it depends on is on disk"
    case registrationsForgotten = "a registration is acknowledged and not on disk"
    case lanesForgotten = "how far a state has come to a token is not on disk"
    case livesTooEarly = "a picture of the daemon is taken for whole before it is"
    case silenceBelieved = "a push without an answer is taken for one that arrived"
    case silenceRepeated = "a push without an answer is sent again as it was"
    case unsentDoubted = "a push of which nothing left is taken for one that may have arrived"
    case answerForgotten = "an answer of the service is dropped"
    case deletionUnheard = "an activity that leaves the daemon is not noticed"
    case accountMixed = "rows of one account are taken for another's"
    case rowsKept = "rows of subscriptions that were lost are taken for rows of now"
}
