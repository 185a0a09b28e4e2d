"""Machines made of random numbers."""

import random

EVENTS = ["e0", "e1", "e2", "e3", "r0", "r1"]
DATA = ["x", "y"]


class Chart:
    """A machine in the words of a kind file, where it is legal."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.kinds = {"": "compound"}
        self.children = {}
        self.histories = {}
        self.machine = {}
        self.grow("", 0)
        self.paths = [path for path in self.kinds if path]
        self.ordinary = [path for path in self.paths if self.kinds[path] not in ("history", "final") or "." in path]
        self.machine = self.state("")

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def parent(self, path):
        return path.rpartition(".")[0]

    def join(self, path, key):
        return f"{path}.{key}" if path else key

    def is_inside(self, path, ancestor):
        return path != ancestor and (not ancestor or path.startswith(ancestor + "."))

    def ancestors(self, path):
        while path:
            path = self.parent(path)
            yield path

    def grow(self, path, depth):
        kind = "compound" if depth == 0 else "atomic"
        if depth and depth < 4 and self.chance(60 if depth < 2 else 35):
            kind = "parallel" if self.chance(40) else "compound"
        self.kinds[path] = kind
        self.children[path] = []
        if kind == "atomic":
            return
        for index in range(self.random.randint(1 if depth else 2, 3)):
            child = self.join(path, f"{'r' if kind == 'parallel' else 's'}{index}")
            self.children[path].append(child)
            self.grow(child, depth + 1)
        if kind == "compound" and self.chance(40 if depth else 20):
            final = self.join(path, "f")
            self.children[path].append(final)
            self.kinds[final] = "final"
            self.children[final] = []
        # The machine itself is never exited here, and SCXML's outermost state would be.
        if depth and self.chance(35):
            history = self.join(path, "h")
            self.kinds[history] = "history"
            self.children[history] = []
            self.histories[path] = history

    def orthogonal(self, left, right):
        """Whether both may be active at once, neither inside of the other."""
        left, right = (self.parent(path) if self.kinds[path] == "history" else path for path in (left, right))
        if left == right or self.is_inside(left, right) or self.is_inside(right, left):
            return False
        common = next(path for path in self.ancestors(left) if self.is_inside(right, path))
        return self.kinds[common] == "parallel"

    def several(self, candidates):
        """One of them, or some that may be entered together."""
        result = [self.random.choice(candidates)]
        for _ in range(2):
            other = self.random.choice(candidates)
            if self.chance(50) and all(self.orthogonal(other, path) for path in result):
                result.append(other)
        return result[0] if len(result) == 1 else result

    def target(self):
        return self.several(self.paths)

    def condition(self):
        name, number = self.random.choice(DATA), self.random.randint(0, 3)
        state = self.random.choice([path for path in self.paths if self.kinds[path] != "history"])
        return self.random.choice([
            f"content.{name} == {number}", f"content.{name} != {number}", f"content.{name} < {number}",
            f"in({state})", f"not in({state})", f"in({state}) and content.{name} > {number}",
            f"content.{name} >= {number} or in({state})",
        ])

    def actions(self):
        result = []
        for _ in range(self.random.randint(1, 2)):
            kind = self.random.randint(0, 9)
            if kind == 0:
                result.append({"raise": self.random.choice(["r0", "r1"])})
            elif kind == 1:
                result.append({"send": self.random.choice(["e3", "r1"])})
            else:
                result.append({"assign": {self.random.choice(DATA): self.random.randint(0, 4)}})
        return result

    def transition(self, source, is_always):
        result = {}
        if self.chance(90):
            result["target"] = self.target()
        if is_always or self.chance(35):
            result["guard"] = self.condition()
        if self.chance(35):
            result["actions"] = self.actions()
        targets = result.get("target", [])
        targets = [targets] if isinstance(targets, str) else targets
        # SCXML has no word for two of our rules (Protocols/Kinds/README.md): internal transitions of a parallel state, and a history state that may
        # stand for the very source.
        inside = any(self.is_inside(target, source) for target in targets)
        if self.chance(30) or (self.kinds[source] == "parallel" and inside) or any(
                self.kinds[target] == "history" and self.is_inside(source, self.parent(target)) for target in targets):
            result["reenter"] = True
        # SCXML's outermost state has no state around it that it could be exited into; ours is never exited at all.
        if source == "":
            result.pop("reenter", None)
        return result

    def alternatives(self, source, is_always=False):
        result = [self.transition(source, is_always) for _ in range(self.random.choice([1, 1, 1, 2]))]
        return result[0] if len(result) == 1 else result

    def state(self, path):
        kind = self.kinds[path]
        if kind == "final":
            result = {"type": "final"}
            if self.chance(30):
                result["entry"] = self.actions()
            return result
        if kind == "history":
            return self.history(path)
        result = {}
        on = {event: self.alternatives(path) for event in EVENTS if self.chance(20)}
        if self.chance(6):
            on["*"] = self.alternatives(path)
        doable = [other for other, other_kind in self.kinds.items() if other and other_kind in ("compound", "parallel")]
        if doable and self.chance(12):
            on["done." + self.random.choice(doable)] = self.alternatives(path)
        if on:
            result["on"] = on
        if self.chance(8):
            result["always"] = self.alternatives(path, is_always=True)
        if path and kind != "atomic" and self.chance(50):
            result["onDone"] = self.alternatives(path)
        if path:
            for name in ("entry", "exit"):
                if self.chance(25):
                    result[name] = self.actions()
        if kind == "atomic":
            return result
        children = self.children[path] + ([self.histories[path]] if path in self.histories else [])
        if kind == "parallel":
            result["regions"] = [{"id": child.rpartition(".")[2], **self.state(child)} for child in children]
            return result
        result["initial"] = self.initial(path)
        result["states"] = {child.rpartition(".")[2]: self.state(child) for child in children}
        return result

    def initial(self, path):
        if self.chance(20):
            return self.several([inner for inner in self.paths if self.is_inside(inner, path)])
        return self.random.choice(self.children[path])

    def history(self, path):
        parent = self.parent(path)
        deep = self.chance(50)
        inside = [inner for inner in self.paths if self.is_inside(inner, parent) and self.kinds[inner] != "history"]
        candidates = inside if deep else self.children[parent]
        return {"type": "history", "history": "deep" if deep else "shallow", "target": self.random.choice(candidates)}
