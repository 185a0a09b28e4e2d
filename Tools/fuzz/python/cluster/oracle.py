"""Compares what a cluster says and has on its disks with what its clients sent, were told and saw."""

import json
import subprocess
import time

from cluster.clients import LAMP
from cluster.wire import NodeLines
from torture.verify import history
from torture.wire import Failure, attributes, check, tail


def ledgers(producers):
    """No position was acknowledged twice, and no leader acknowledged one of its own clients one behind those of a later term."""
    owners, terms = {}, {}
    for producer in producers:
        for eid, ack in list(producer.acknowledged.items()):
            other = owners.setdefault(ack.rev, (producer.name, eid))
            check(other == (producer.name, eid), f"position {ack.rev} was acknowledged for {other} and for {producer.name} {eid}")
            # A node that follows does not say which term decided.
            if ack.verdict == "applied" and ack.term:
                low, high = terms.get(ack.term, (ack.rev, ack.rev))
                terms[ack.term] = (min(low, ack.rev), max(high, ack.rev))
    newest = (0, 0)
    for term, (low, high) in sorted(terms.items()):
        check(low > newest[1], f"term {newest[0]} acknowledged {newest[1]}, and term {term} acknowledged {low}")
        newest = (term, high)
    return terms


def providers(clients):
    """No operation was asked for by a term that another one had ended some seconds before, as two threads here hear it."""
    asked = sorted((each for client in clients for each in client.asked), key=lambda each: each.at)
    newest = None
    for each in asked:
        if newest and each.term < newest.term:
            check(each.at - newest.at < 5, f"term {each.term} asked for {each.op} {each.at - newest.at:.1f} s after term {newest.term} had asked")
        elif newest is None or each.term > newest.term:
            newest = each
    return len(asked)


def log(address, producers, screens, is_whole=True):
    """Acknowledged <= log <= sent, each once, in order, with the rev that was told; and each row that was seen is there."""
    lines = NodeLines(address, 30)
    events, content = 0, {}
    try:
        for producer in producers:
            keys = dict.fromkeys(post.key for post in list(producer.sent.values()))
            keys = list(keys) if is_whole else list(keys)[-2:]
            for key in keys:
                told = history(lines, key)
                events += len(told)
                one_key(producer, key, told)
                content.update({(key, rev): producer.sent[eid].number for eid, rev in told})
                if told:
                    lines.send(f"GET {key} view=full\n")
                    row = attributes(lines.read())
                    check(row["verb"] == "OK" and row["tail"]["content"]["n"] == content[key, told[-1][1]],
                          f"{key} is {row}, and its history ends with {told[-1]}")
    finally:
        lines.close()
    if is_whole:
        for screen in screens:
            for (key, rev), number in screen.seen.items():
                if key.startswith("tally/"):
                    check(content.get((key, rev)) == number,
                          f"{screen.name} saw {key} at {rev} as {number}, and the log has {content.get((key, rev))}")
    return events


def one_key(producer, key, told):
    eids = [eid for eid, _ in told]
    revs = [rev for _, rev in told]
    check(len(set(eids)) == len(eids), f"{key}: an event took effect twice: {eids}")
    check(all(eid in producer.sent and producer.sent[eid].key == key for eid in eids), f"{key}: events nobody sent")
    numbers = [int(eid[1:]) for eid in eids]
    check(numbers == sorted(numbers) and revs == sorted(revs), f"{key}: the order is another one: {told}")
    recovered = dict(told)
    for eid, ack in list(producer.acknowledged.items()):
        if producer.sent[eid].key == key:
            check(recovered.get(eid) == ack.rev,
                  f"{key}: {eid} was acknowledged with rev {ack.rev} by term {ack.term}, and has {recovered.get(eid)}")


def settled(leader, screens, producers, finger, seconds=60):
    """Every screen ends on the newest state, and the lamp is as it was wanted last. `leader` gives the address of the node that leads."""
    newest = {key: rev for producer in producers for key, (rev, _) in producer.newest.items()}
    deadline = time.monotonic() + seconds
    while True:
        for screen in screens:
            screen.check()
        late = [(screen.name, key, rev, screen.newest.get(key)) for screen in screens for key, rev in newest.items()
                if screen.newest.get(key, 0) != rev and screen.pattern == "tally/*"]
        lamp = is_settled(leader(), finger) if finger else None
        if not late and lamp is None:
            return
        if time.monotonic() > deadline:
            raise Failure(f"{seconds} s behind the last event a screen, its key, the newest rev and its own are {late[:3]}; "
                          f"the lamp: {lamp}")
        time.sleep(0.1)


def is_settled(address, finger):
    """`None` where the lamp is as it is wanted; else what it is."""
    if not finger.operations:
        return None
    try:
        lines = NodeLines(address)
        try:
            lines.send(f"GET {LAMP} view=full\n")
            row = attributes(lines.read())
        finally:
            lines.close()
    except (OSError, ValueError) as error:
        return str(error)
    state = row["tail"]
    if row["verb"] == "OK" and state.get("phase") == "settled":
        return None
    return state


def stats(address):
    lines = NodeLines(address)
    try:
        lines.send("STATS\n")
        return attributes(lines.read())["tail"]
    finally:
        lines.close()


def level(cluster, seconds=60, slack=0):
    """Waits until every node stands where the leader stands, to `slack` messages. Returns the position."""
    deadline = time.monotonic() + seconds
    places = None
    while time.monotonic() < deadline:
        cluster.check_ends()
        try:
            told = {name: stats(address)["cluster"] for name, address in cluster.addresses.items()}
            places = {name: (each["position"], each["lag"]) for name, each in told.items()}
            positions = [position for position, _ in places.values()]
            if max(positions) - min(positions) <= slack and {each["role"] for each in told.values()} == {"leader", "standby"}:
                return max(positions)
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.2)
    raise Failure(f"within {seconds} s the nodes did not come to one position: {places}")


def beating(cluster, seconds=60):
    """Waits until every node has heard a new beat of each other one, while events flow: what it tells of their positions changes."""
    first, heard = {}, set()
    pairs = {(name, other) for name in cluster.addresses for other in cluster.addresses if name != other}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        cluster.check_ends()
        for name, address in cluster.addresses.items():
            try:
                nodes = stats(address)["cluster"]["nodes"]
            except (OSError, ValueError, KeyError):
                continue
            for node in nodes:
                pair = (name, node["node"])
                if first.setdefault(pair, node["position"]) != node["position"]:
                    heard.add(pair)
        if heard >= pairs:
            return
        time.sleep(0.2)
    raise Failure(f"within {seconds} s nodes did not hear others: {sorted(pairs - heard)}")


def hashes(cluster, telltale):
    """Ends all daemons in order, standbys first, and compares the states that their folders give."""
    leader = cluster.await_leader()
    for node in [node for node in cluster.nodes if node is not leader] + [leader]:
        status = node.end()
        check(status == 0, f"{node.name} ended with {status}: {tail(node.log)}")
    states = {}
    for node in cluster.nodes:
        done = subprocess.run([telltale, "journal", "verify", "--replay", "--json", f"{cluster.folder}/{node.name}"],
                              capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"the folder of {node.name}: {done.stdout} {done.stderr}")
        found = json.loads(done.stdout)
        states[node.name] = (found["replayed"], found["state"])
    check(len(set(states.values())) == 1, f"the nodes have states of their own: {states}")
    return next(iter(states.values()))
