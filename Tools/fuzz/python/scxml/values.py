"""The names, values and counters of an SCXML document, as a kind file writes them."""

import json
import re
import xml.etree.ElementTree as ElementTree

NAMESPACE = "{http://www.w3.org/2005/07/scxml}"


class Untranslatable(Exception):
    pass


def tag(element):
    return element.tag.replace(NAMESPACE, "") if isinstance(element.tag, str) else "comment"


class Values:
    """A document's states, events, data and conditions."""

    def __init__(self, path, heard):
        self.root = ElementTree.parse(path).getroot()
        self.keys = {}
        self.paths = {}
        self.parents = {}
        self.nodes = {}
        self.content = {}
        self.generated = 0
        self.counters = {}
        self.find_counters()
        for data in self.root.iter(NAMESPACE + "data"):
            if data.get("src") or (data.text or "").strip() or len(data):
                raise Untranslatable("data from elsewhere")
            name = data.get("id")
            if name in self.counters:
                self.content.update(self.register(name, data.get("expr")))
            elif data.get("expr") is not None:
                self.content[name] = self.literal(data.get("expr"))
            else:
                self.content[name] = None
        self.name(self.root, "", None)
        self.events = sorted(self.collect_events() | {self.event_name(name) for name in heard})

    # Counters

    def find_counters(self):
        """What something is added to or copied from, and how far it can be told apart."""
        names = set()
        declared = {data.get("id") for data in self.root.iter(NAMESPACE + "data")}
        for assign in self.root.iter(NAMESPACE + "assign"):
            if match := re.fullmatch(r"(\w+)\s*(?:[+-]\s*\d+)?", assign.get("expr") or ""):
                if match.group(1) in declared:
                    names |= {match.group(1), assign.get("location")}
        texts = [value for element in self.root.iter() for value in element.attrib.values()]
        for name in names:
            literals = [int(number) for text in texts if re.search(rf"\b{name}\b", text)
                        for number in re.findall(r"(?<![\w.])\d+(?![\w.])", text)]
            self.counters[name] = max(literals, default=0) + 3
        for data in self.root.iter(NAMESPACE + "data"):
            if data.get("id") in names and re.fullmatch(r"\d+", data.get("expr") or ""):
                self.counters[data.get("id")] += int(data.get("expr"))
        # A copy from one counter to another needs the same room in both.
        for name in names:
            self.counters[name] = max(self.counters.values())
            if self.counters[name] > 60:
                raise Untranslatable("a loop of a hundred steps: more than the limit")

    def register(self, name, expression):
        value = self.literal(expression) if expression is not None else None
        if value is not None and (not isinstance(value, int) or value >= self.counters[name]):
            raise Untranslatable("an expression")
        return {f"{name}_{number}": number == value for number in range(self.counters[name])}

    def assignment(self, element):
        location = element.get("location")
        expression = (element.get("expr") or "").strip()
        if location in self.counters:
            if re.fullmatch(r"\d+", expression):
                return self.register(location, expression)
            match = re.fullmatch(r"(\w+)\s*(?:([+-])\s*(\d+))?", expression)
            if not match or match.group(1) not in self.counters:
                raise Untranslatable("an assignment")
            source = match.group(1)
            shift = int(match.group(3) or 0) * (-1 if match.group(2) == "-" else 1)
            count = self.counters[location]
            return {f"{location}_{number}":
                    f"{{{{content.{source}_{number - shift}}}}}" if 0 <= number - shift < count else False
                    for number in range(count)}
        if not expression or location not in self.content:
            raise Untranslatable("an assignment")
        return {location: self.literal(expression)}

    # Names

    def name(self, element, path, parent):
        for child in element:
            if tag(child) not in ("state", "parallel", "final", "history"):
                continue
            if child.get("id") is None:
                self.generated += 1
                child.set("id", f"anonymous{self.generated}")
            key = re.sub(r"[^A-Za-z0-9_-]", "_", child.get("id"))
            child_path = f"{path}.{key}" if path else key
            self.keys[child.get("id")] = key
            self.paths[child.get("id")] = child_path
            self.parents[child.get("id")] = parent
            self.nodes[child.get("id")] = child
            self.name(child, child_path, child.get("id"))

    def collect_events(self):
        names = set()
        for element in self.root.iter():
            kind = tag(element)
            if kind in ("raise", "send"):
                names.add(self.event_name(element.get("event") or self.quoted(element.get("eventexpr"))))
            elif kind == "transition":
                for descriptor in (element.get("event") or "").split():
                    if descriptor.rstrip(".*"):
                        names.add(self.event_name(descriptor.rstrip(".*") if descriptor.endswith("*") else descriptor))
        for state, element in self.nodes.items():
            if tag(element) in ("state", "parallel"):
                names.add("done." + self.paths[state])
        names.discard(None)
        return names

    def event_name(self, name):
        """`done.state.ID` is `done.PATH` here."""
        if name and name.startswith("done.state."):
            state = name.removeprefix("done.state.")
            return "done." + self.paths.get(state, state)
        return name

    def matches(self, descriptor, name):
        if descriptor == "*":
            return True
        original = name
        for state, path in self.paths.items():
            if name == "done." + path:
                original = "done.state." + state
        descriptor = descriptor.removesuffix(".*").removesuffix(".")
        return original == descriptor or original.startswith(descriptor + ".")

    # Values

    def literal(self, text):
        text = text.strip()
        if re.fullmatch(r"-?\d+(\.\d+)?", text):
            return json.loads(text)
        if re.fullmatch(r"'[^'\\]*'", text):
            return text[1:-1]
        if re.fullmatch(r'"[^"\\]*"', text):
            return text[1:-1]
        if text in ("true", "false", "null"):
            return json.loads(text)
        raise Untranslatable("an expression")

    def quoted(self, text):
        if text is None:
            return None
        value = self.literal(text)
        if not isinstance(value, str):
            raise Untranslatable("an expression")
        return value

    def condition(self, text):
        parts = []
        for part in re.split(r"\s*&&\s*", text.strip()):
            negated = part.startswith("!") and not part.startswith("!=")
            part = part.removeprefix("!") if negated else part
            if part in ("true", "false"):
                result = part
            elif match := re.fullmatch(r"In\('([^']+)'\)", part):
                result = f"in({self.paths[match.group(1)]})"
            elif match := re.fullmatch(r"(\w+)\s*(===?|!==?|<=?|>=?)\s*(.+)", part):
                name, operator, value = match.groups()
                operator = {"===": "==", "!==": "!="}.get(operator, operator)
                if name in self.counters:
                    result = self.comparison(name, operator, self.literal(value))
                elif name in self.content:
                    result = f"content.{name} {operator} {json.dumps(self.literal(value))}"
                else:
                    raise Untranslatable("an expression")
            elif match := re.fullmatch(r"_event\.name\s*===?\s*'([^']*)'", part):
                result = f'event.type == "{match.group(1)}"'
            else:
                raise Untranslatable("an expression")
            parts.append(f"not {result}" if negated else result)
        return " and ".join(parts)

    def comparison(self, name, operator, value):
        tests = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__,
                 ">=": int.__ge__}
        if not isinstance(value, int):
            raise Untranslatable("an expression")
        members = [f"content.{name}_{number}" for number in range(self.counters[name]) if tests[operator](number, value)]
        return "(" + " or ".join(members) + ")" if len(members) != 1 else members[0]
