"""Runs a machine through our engine and through python-statemachine, and corrects the latter where it departs from SCXML."""

import itertools
import json
import re
import signal
import subprocess

from statechart_fuzz.chart import DATA
from statechart_fuzz.export import Export


def ours(bench, cases):
    """Traces of many charts at once; None where the compiler refuses one."""
    text = "".join(json.dumps(case) + "\n" for case in cases)
    process = subprocess.run([bench, "statechart-traces"], input=text, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        raise RuntimeError(f"telltale-bench statechart-traces: {process.stderr}")
    return [json.loads(line) for line in process.stdout.splitlines()]


def theirs(chart, scxml, events, corrections=()):
    """The reference's trace, as ours: after the start and after each event, leaves and data."""
    from statemachine.io import load

    machine_class = load(scxml, format="scxml", trusted=True)
    with Corrected(corrections):
        if "document order" in corrections:
            # python-statemachine gives one number to several states, and orders states with children behind the others.
            found = re.findall(r'<(?:state|parallel|final) id="([^"]+)"', scxml)
            number_states(machine_class.states, {name: position for position, name in enumerate(found, 1)})
        machine = machine_class()
        trace = [snapshot(chart, machine)]
        for event in events:
            if not machine.is_terminated:
                machine.send(event)
            trace.append(snapshot(chart, machine))
    return trace


def number_states(states, numbers):
    for state in states:
        state.document_order = numbers[state.id]
        number_states(state.states, numbers)


class TookTooLong(BaseException):
    """The reference goes in a circle. Not an Exception: those it would catch itself."""


def limited(seconds, function, *arguments):
    def stop(*_):
        raise TookTooLong
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def snapshot(chart, machine):
    active = {state.id for state in machine.configuration}
    export = Export(chart)
    leaves = [path for path in chart.paths
              if export.id(path) in active and not any(export.id(child) in active for child in chart.children[path])]
    return {"leaves": sorted(leaves), "content": {name: getattr(machine.model, name) for name in DATA}}


class Corrected:
    """python-statemachine with some of its procedures as the recommendation has them, for as long as it is entered."""

    def __init__(self, names):
        self.names = names
        self.saved = []

    def __enter__(self):
        from statemachine.engines.base import BaseEngine
        from statemachine.engines.sync import SyncEngine
        from statemachine.event import BoundEvent
        from statemachine.orderedset import OrderedSet

        def replace(owner, name, function):
            self.saved.append((owner, name, owner.__dict__[name]))
            setattr(owner, name, function)

        if "document order" in self.names:
            # "atomicStates = configuration.toList().filter(isAtomicState).sort(documentOrder)"
            def select(engine, trigger_data, predicate):
                enabled = OrderedSet()
                leaves = [state for state in engine.sm.configuration if state.is_atomic]
                for state in sorted(leaves, key=lambda state: state.document_order):
                    transition = engine._first_transition_that_matches(state, trigger_data, predicate)
                    if transition is not None:
                        enabled.add(transition)
                return engine._filter_conflicting_transitions(enabled)

            replace(SyncEngine, "_select_transitions", select)
        if "nested parallel" in self.names:
            # A compound or parallel state that is done raises its event; the reference raises it for one of two nested
            # ones.
            original = BaseEngine._handle_final_state

            def handle(engine, target, on_entry_result):
                original(engine, target, on_entry_result)
                state = target.parent and target.parent.parent
                while state is not None and state.parallel and engine.is_in_final_state(state):
                    state = state.parent
                    if state is not None and state.parallel and engine.is_in_final_state(state):
                        BoundEvent(f"done.state.{state.id}", _sm=engine.sm, internal=True).put()

            replace(BaseEngine, "_handle_final_state", handle)
        if "history content" in self.names:
            # "defaultHistoryContent[state.parent.id] = state.transition.content": the actions of the history state's
            # own transition, of which a kind has none. The reference performs the actions of the transition to the
            # history state once more.
            add = BaseEngine._add_history_states_to_enter

            def add_without_content(engine, info, state, entered, by_default, content):
                add(engine, info, state, entered, by_default, content)
                content.pop(state.parent.id, None)

            replace(BaseEngine, "_add_history_states_to_enter", add_without_content)
        if "deep history" in self.names:
            # "if h.type == "deep": f = lambda s0: isAtomicState(s0) and isDescendant(s0,s)". The reference also
            # remembers the states around the atomic ones, which moves the domain of a transition outwards.
            prepare = BaseEngine._prepare_exit_states

            def prepare_atomic(engine, transitions):
                ordered, states = prepare(engine, transitions)
                for state in states:
                    for history in state.history:
                        if history.type.is_deep:
                            remembered = engine.sm.history_values[history.id]
                            engine.sm.history_values[history.id] = [inner for inner in remembered if inner.is_atomic]
                return ordered, states

            replace(BaseEngine, "_prepare_exit_states", prepare_atomic)
        return self

    def __exit__(self, *_):
        for owner, name, value in reversed(self.saved):
            setattr(owner, name, value)


NAMES = ["document order", "nested parallel", "history content", "deep history"]
# The fewest first.
CORRECTIONS = [names for count in range(len(NAMES) + 1) for names in itertools.combinations(NAMES, count)]
