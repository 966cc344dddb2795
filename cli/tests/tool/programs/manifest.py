"""Checks a manifest against the types of the Kubernetes API, as its Python client has them.

manifest.py MODELS < MANIFEST: prints every key that a type does not have and every value of
another type, and exits with 1 where there is one.
"""

import ast
import pathlib
import re
import sys

import yaml

MODELS = pathlib.Path(sys.argv[1])
KINDS = {("v1", "Service"): "V1Service", ("apps/v1", "DaemonSet"): "V1DaemonSet"}
SIMPLE = {"str": str, "int": int, "bool": bool, "float": (int, float)}
faults = []
known = {}


def model(name):
    """Types of a model's keys, as they stand in a manifest; None of what is no model."""
    if name not in known:
        path = MODELS / (re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower() + ".py")
        known[name] = None
        if path.exists():
            found = {}
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("openapi_types", "attribute_map"):
                    found[node.targets[0].id] = ast.literal_eval(node.value)
            known[name] = {key: found["openapi_types"][own] for own, key in found["attribute_map"].items()}
    return known[name]


def check(value, kind, place):
    """Notes what is wrong with a value that is to be of a type."""
    if kind.startswith("list["):
        if not isinstance(value, list):
            return faults.append(f"{place}: no list of {kind[5:-1]}")
        return [check(one, kind[5:-1], f"{place}[{at}]") for at, one in enumerate(value)] and None
    if kind.startswith("dict("):
        inner = kind[5:-1].split(", ", 1)[1]
        if not isinstance(value, dict):
            return faults.append(f"{place}: no map of {inner}")
        return [check(one, inner, f"{place}.{key}") for key, one in value.items()] and None
    if kind == "object":
        return None
    if kind in SIMPLE:
        right = isinstance(value, SIMPLE[kind]) and (kind == "bool" or not isinstance(value, bool))
        # A port may be a name; a quantity is text in YAML, or a number.
        return None if right else faults.append(f"{place}: {value!r} is no {kind}")
    keys = model(kind)
    if keys is None:
        return faults.append(f"{place}: no model of {kind}")
    if not isinstance(value, dict):
        return faults.append(f"{place}: no {kind}")
    for key, one in value.items():
        if key in keys:
            check(one, keys[key], f"{place}.{key}")
        else:
            faults.append(f"{place}: {kind} has no '{key}'")
    return None


documents = [one for one in yaml.safe_load_all(sys.stdin.read()) if one]
for one in documents:
    kind = KINDS.get((one.get("apiVersion"), one.get("kind")))
    if kind is None:
        faults.append(f"{one.get('apiVersion')} {one.get('kind')}: unexpected")
    else:
        check(one, kind, one["kind"])
print("\n".join(faults) if faults else f"{len(documents)} objects are sound")
sys.exit(bool(faults))
