"""An SCXML document as the machine of a kind file."""

import re

from scxml.values import NAMESPACE, Untranslatable, Values, tag


class Document(Values):
    """A document's actions, transitions and states."""

    # Actions

    def actions(self, element):
        result = []
        for child in element:
            kind = tag(child)
            if kind in ("log", "comment"):
                continue
            if kind == "raise":
                result.append({"raise": self.event_name(child.get("event"))})
            elif kind == "assign":
                result.append({"assign": self.assignment(child)})
            elif kind == "send":
                result.append(self.send(child))
            elif kind == "cancel":
                result.append({"cancel": child.get("sendid") or self.quoted(child.get("sendidexpr"))})
            else:
                raise Untranslatable(f"<{kind}>")
        return result

    def send(self, element):
        if len(element) or element.get("namelist") or element.get("idlocation"):
            raise Untranslatable("data in an event")
        kind = element.get("type") or self.quoted(element.get("typeexpr"))
        if kind not in (None, "http://www.w3.org/TR/scxml/#SCXMLEventProcessor", "scxml"):
            raise Untranslatable("another event processor")
        event = self.event_name(element.get("event") or self.quoted(element.get("eventexpr")))
        target = element.get("target") or self.quoted(element.get("targetexpr"))
        if target == "#_internal":
            return {"raise": event}
        if target is not None:
            raise Untranslatable("a send to somebody else")
        action = {"send": event}
        delay = element.get("delay") or self.quoted(element.get("delayexpr"))
        if delay and not re.fullmatch(r"0(ms|s)?", delay):
            match = re.fullmatch(r"(\d*\.?\d+)(ms|s)", delay)
            if not match:
                raise Untranslatable("a delay")
            milliseconds = float(match.group(1)) * (1000 if match.group(2) == "s" else 1)
            action["delay"] = f"{int(milliseconds)}ms"
        if element.get("id"):
            action["id"] = element.get("id")
        return action

    # States

    def targets(self, text):
        return [self.paths[name] for name in text.split()]

    def is_inside(self, state, ancestor):
        while state is not None:
            state = self.parents[state]
            if state == ancestor:
                return True
        return False

    def transition(self, element, source):
        result = {}
        names = (element.get("target") or "").split()
        if any(name not in self.paths for name in names):
            raise Untranslatable("an unknown target")
        if names:
            paths = self.targets(element.get("target"))
            result["target"] = paths[0] if len(paths) == 1 else paths
            effective = set(names)
            for name in names:
                if tag(self.nodes[name]) == "history":
                    effective.add(self.parents[name])
            is_internal = element.get("type") == "internal" and tag(self.nodes[source]) == "state" and any(
                tag(child) in ("state", "parallel", "final") for child in self.nodes[source])
            if not is_internal and any(name == source or self.is_inside(name, source) for name in effective):
                result["reenter"] = True
            if is_internal and source in names:
                result["reenter"] = True
        if element.get("cond"):
            result["guard"] = self.condition(element.get("cond"))
        actions = self.actions(element)
        if actions:
            result["actions"] = actions
        return result

    def compact(self, alternatives):
        if len(alternatives) > 1:
            return alternatives
        only = alternatives[0]
        return only["target"] if list(only) == ["target"] and isinstance(only["target"], str) else only

    def state(self, element):
        kind = tag(element)
        result = {}
        if kind == "final":
            result["type"] = "final"
        if kind == "history":
            result["type"] = "history"
            result["history"] = element.get("type", "shallow")
            default = element.find(NAMESPACE + "transition")
            if default is not None:
                if self.actions(default):
                    raise Untranslatable("actions of a default")
                paths = self.targets(default.get("target"))
                result["target"] = paths[0] if len(paths) == 1 else paths
            return result
        for name in ("onentry", "onexit"):
            actions = [action for child in element.findall(NAMESPACE + name) for action in self.actions(child)]
            if actions:
                result[name.removeprefix("on")] = actions
        self.add_transitions(element, result)
        self.add_children(element, result)
        return result

    def add_transitions(self, element, result):
        transitions = element.findall(NAMESPACE + "transition")
        if not transitions:
            return
        source = element.get("id")
        translated = [(child, self.transition(child, source)) for child in transitions]
        always = [translation for child, translation in translated if not child.get("event")]
        if always:
            result["always"] = self.compact(always)
        on = {}
        named = [(child.get("event").split(), translation) for child, translation in translated if child.get("event")]
        for event in self.events:
            matching = [translation for descriptors, translation in named
                        if any(self.matches(descriptor, event) for descriptor in descriptors)]
            # Events that only a wildcard matches are left to `*`.
            if any(self.matches(descriptor, event) for descriptors, _ in named for descriptor in descriptors
                   if descriptor != "*"):
                on[event] = self.compact(matching)
        wild = [translation for descriptors, translation in named if "*" in descriptors]
        if wild:
            on["*"] = self.compact(wild)
        if on:
            result["on"] = on

    def add_children(self, element, result):
        children = [child for child in element if tag(child) in ("state", "parallel", "final", "history")]
        if any(tag(child) in ("invoke", "donedata", "datamodel", "script") for child in element if element != self.root):
            if any(tag(child) in ("invoke", "donedata", "script") for child in element):
                raise Untranslatable("invoke, donedata or script")
        if not children:
            if tag(element) == "parallel":
                raise Untranslatable("a parallel state without regions")
            return
        if tag(element) == "parallel":
            result["regions"] = [{"id": self.keys[child.get("id")], **self.state(child)} for child in children]
            return
        initial = element.find(NAMESPACE + "initial")
        if element.get("initial"):
            paths = self.targets(element.get("initial"))
        elif initial is not None:
            transition = initial.find(NAMESPACE + "transition")
            if self.actions(transition):
                raise Untranslatable("actions of an initial transition")
            paths = self.targets(transition.get("target"))
        else:
            paths = [self.paths[next(child.get("id") for child in children)]]
        result["initial"] = paths[0] if len(paths) == 1 else paths
        result["states"] = {self.keys[child.get("id")]: self.state(child) for child in children}

    def machine(self):
        if any(tag(element) in ("script", "invoke", "donedata", "foreach", "if") for element in self.root.iter()):
            raise Untranslatable("script, invoke, donedata, foreach or if")
        result = {}
        self.add_children(self.root, result)
        return result

    def leaves(self, names):
        """Paths in the order of their documents."""
        order = list(self.paths)
        return ",".join(self.paths[name] for name in sorted(names, key=order.index))
