"""A machine as SCXML."""

from xml.sax.saxutils import quoteattr

from statechart_fuzz.chart import DATA, EVENTS


class Export:
    """The same machine as SCXML, by rule."""

    def __init__(self, chart):
        self.chart = chart
        self.lines = []
        done = ["done.state." + self.id(path) for path, kind in chart.kinds.items()
                if path and kind in ("compound", "parallel")]
        self.events = EVENTS + done

    def id(self, path):
        return "n_" + path.replace(".", "_") if path else "machine"

    def text(self):
        machine = self.chart.machine
        finals = [path for path in self.chart.children[""] if self.chart.kinds[path] == "final"]
        initial = machine["initial"]
        # Transitions of the machine itself need a state around everything. Its final states stand beside that one.
        outermost = self.id("") if initial not in finals else self.id(initial)
        self.lines = [f'<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" datamodel="ecmascript" '
                      f'initial="{outermost}">', "<datamodel>"]
        self.lines += [f'<data id="{name}" expr="0"/>' for name in DATA] + ["</datamodel>"]
        self.state("", machine)
        for path in finals:
            self.state(path, machine["states"][path])
        self.lines.append("</scxml>")
        return "\n".join(self.lines)

    def actions(self, actions):
        for action in actions:
            if "raise" in action:
                self.lines.append(f'<raise event="{action["raise"]}"/>')
            elif "send" in action:
                self.lines.append(f'<send event="{action["send"]}"/>')
            else:
                for name, value in action["assign"].items():
                    self.lines.append(f'<assign location="{name}" expr="{value}"/>')

    def condition(self, text):
        words = text.replace("content.", "").split(" ")
        return " ".join(f"In('{self.id(word[3:-1])}')" if word.startswith("in(") else word for word in words)

    def transitions(self, source, trigger, alternatives):
        for transition in alternatives if isinstance(alternatives, list) else [alternatives]:
            attributes = {"event": trigger} if trigger else {}
            if "guard" in transition:
                attributes["cond"] = self.condition(transition["guard"])
            targets = transition.get("target", [])
            targets = [targets] if isinstance(targets, str) else targets
            # To itself without re-entering it is an action alone.
            if targets and not (targets == [source] and not transition.get("reenter")):
                attributes["target"] = " ".join(self.id(target) for target in targets)
                # The machine's final states stand beside its outermost state.
                inside = all(self.chart.is_inside(target, source) and (source or self.chart.kinds[target] != "final" or "." in target) for target in targets)
                if inside and not transition.get("reenter") and self.chart.kinds[source] == "compound":
                    attributes["type"] = "internal"
            words = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
            self.lines.append(f"<transition {words}>")
            self.actions(transition.get("actions", []))
            self.lines.append("</transition>")

    def event(self, name):
        return "done.state." + self.id(name[5:]) if name.startswith("done.") else name

    def state(self, path, state):
        kind = self.chart.kinds[path]
        element = {"compound": "state", "atomic": "state"}.get(kind, kind)
        attributes = f'id="{self.id(path)}"'
        if kind == "history":
            self.lines.append(f'<history {attributes} type="{state["history"]}">'
                              f'<transition target="{self.id(state["target"])}"/></history>')
            return
        if kind == "compound":
            initial = state["initial"]
            names = [initial] if isinstance(initial, str) else initial
            paths = [self.resolve(path, name) for name in names]
            if not path and paths[0] in self.chart.children[""] and self.chart.kinds[paths[0]] == "final":
                paths = [next(child for child in self.chart.children[""] if self.chart.kinds[child] != "final")]
            attributes += f' initial="{" ".join(self.id(target) for target in paths)}"'
        self.lines.append(f"<{element} {attributes}>")
        for name, tag in (("entry", "onentry"), ("exit", "onexit")):
            if name in state:
                self.lines.append(f"<{tag}>")
                self.actions(state[name])
                self.lines.append(f"</{tag}>")
        keyed = set()
        own_done = "done.state." + self.id(path)
        if "onDone" in state:
            keyed.add(own_done)
            self.transitions(path, own_done, state["onDone"])
        for event, alternatives in state.get("on", {}).items():
            if event != "*":
                keyed.add(self.event(event))
                self.transitions(path, self.event(event), alternatives)
        if "*" in state.get("on", {}):
            # Only for events that the state has no key for.
            for event in self.events:
                if event not in keyed:
                    self.transitions(path, event, state["on"]["*"])
        if "always" in state:
            self.transitions(path, None, state["always"])
        for region in state.get("regions", []):
            self.state(self.chart.join(path, region["id"]), region)
        for key in sorted(state.get("states", {})):
            child = self.chart.join(path, key)
            if path or self.chart.kinds[child] != "final":
                self.state(child, state["states"][key])
        self.lines.append(f"</{element}>")

    def resolve(self, path, name):
        child = self.chart.join(path, name)
        return child if child in self.chart.kinds and "." not in name else name
