"""Compares the daemon's answers with the ledgers of the producers."""

from torture.clients import TICKS_PER_KEY
from torture.wire import Lines, attributes, check


def verify(port, producers, watcher, epoch, rng, keys, is_pruned, is_kept=True):
    """Compares what the daemon says with the ledgers; `is_kept`: its epoch is to be the one that was told, or another, or,
    where it is None, any."""
    lines = Lines(port)
    seen = 0
    try:
        if epoch is not None and is_kept is not None:
            told = lines.greeting["epoch"]
            check((told == epoch) == is_kept, f"the epoch was {epoch} and is {told}")
        sequence = int(lines.greeting["seq"])
        check(watcher.newest <= sequence, f"rev {watcher.newest} was shown, and the daemon knows {sequence}")
        for producer in producers:
            newest = max(producer.acknowledged.values(), default=0)
            check(newest <= sequence, f"rev {newest} was acknowledged, and the daemon knows {sequence}")
            for key in keys(producer):
                seen += verify_key(lines, producer, key, is_pruned)
            verify_repeats(lines, producer, rng)
    finally:
        lines.close()
    return lines.greeting["epoch"], seen


def history(lines, key):
    """The events of a key, oldest first, each with its rev."""
    lines.send(f"HISTORY {key}\n")
    events = []
    while True:
        line = attributes(lines.read())
        if line["verb"] == "HIST":
            if "eid" in line["tail"]:
                events.append((line["tail"]["eid"], int(line["rev"])))
        elif line["verb"] == "OK":
            return events
        elif line["verb"] == "ERR":
            # A part of it was pruned while it was told.
            if line["code"] == "internal" and line.get("retry") == "later":
                return history(lines, key)
            check(line["code"] == "unknown_key", f"HISTORY {key} gave {line}")
            return events


def verify_key(lines, producer, key, is_pruned):
    events = history(lines, key)
    eids = [eid for eid, _ in events]
    numbers = [int(eid[1:]) for eid in eids]
    revs = [rev for _, rev in events]
    check(len(set(eids)) == len(eids), f"{key}: an event took effect twice: {eids}")
    check(all(eid in producer.sent and producer.sent[eid].key == key for eid in eids), f"{key}: events nobody sent")
    kept = [int(eid[1:]) for eid in eids if eid not in producer.refused]
    check(kept == sorted(kept) and revs == sorted(revs), f"{key}: the order is another one: {events}")
    recovered = dict(events)
    # Of a pruned history only the oldest part may be missing.
    oldest = (revs[0] if revs else 1 << 62) if is_pruned else 0
    for eid, rev in producer.acknowledged.items():
        if producer.sent[eid].key == key and rev >= oldest:
            check(recovered.get(eid) == rev, f"{key}: {eid} was acknowledged with rev {rev}, and has {recovered.get(eid)}")
    mine = [eid for eid in producer.acknowledged if producer.sent[eid].key == key]
    if events or mine:
        lines.send(f"GET {key} view=full\n")
        row = attributes(lines.read())
        newest = max(producer.acknowledged[eid] for eid in mine) if mine else 0
        check(row["verb"] == "OK" and int(row["rev"]) >= newest, f"{key}: is at {row}, {newest} was acknowledged")
        if events:
            check(int(row["rev"]) == revs[-1], f"{key}: is at {row}, its history at {revs[-1]}")
            check(row["tail"]["content"]["n"] == numbers[-1], f"{key}: shows {row}, its history ends with {eids[-1]}")
    return len(events)


def verify_repeats(lines, producer, rng):
    """The same again is a duplicate with the rev of the first; another under the same eid is refused."""
    eids = list(producer.acknowledged)
    for eid in set(rng.sample(eids, min(5, len(eids))) + eids[-5:]):
        post = producer.sent[eid]
        lines.send(post.line)
        reply = attributes(lines.read())
        check(
            reply["verb"] == "OK" and reply["verdict"] == "duplicate" and int(reply["rev"]) == producer.acknowledged[eid],
            f"{eid} again, acknowledged with rev {producer.acknowledged[eid]}, gave {reply}")
    if eids:
        post = producer.sent[eids[-1]]
        lines.send(f"EVT {post.key} type=tick src={producer.name} eid={post.eid} " + '{"content-state":{"n":-1}}\n')
        reply = attributes(lines.read())
        check(reply["verb"] == "ERR" and reply["code"] == "dup_mismatch", f"another {post.eid} gave {reply}")


def recent_keys(producer):
    last = (producer.next - 1) // TICKS_PER_KEY
    return [f"tally/{producer.name}-{index}" for index in range(max(0, last - 1), last + 1)]


def all_keys(producer):
    return [f"tally/{producer.name}-{index}" for index in range((producer.next - 2) // TICKS_PER_KEY + 1)]
