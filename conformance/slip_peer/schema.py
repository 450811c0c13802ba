"""The part of JSON Schema that conformance/schemas uses."""

import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None),
         "boolean": bool}
KEYWORDS = {"type", "const", "enum", "pattern", "minimum", "minItems", "items", "properties",
            "required", "additionalProperties", "anyOf", "$ref", "$defs", "$schema", "title",
            "description", "if", "then", "else", "allOf", "minProperties"}


def violations(value, rules, root=None, place="$"):
    """Every way in which `value` breaks `rules`, as sentences."""
    root = rules if root is None else root
    unknown = set(rules) - KEYWORDS
    if unknown:
        raise ValueError(f"this validator does not know {unknown}")
    if "$ref" in rules:
        return violations(value, root["$defs"][rules["$ref"].removeprefix("#/$defs/")], root, place)
    found = list(_own(value, rules, place))
    for part in rules.get("allOf", []):
        found += violations(value, part, root, place)
    if "anyOf" in rules and all(violations(value, part, root, place) for part in rules["anyOf"]):
        found.append(f"{place}: none of the allowed forms")
    if "if" in rules:
        branch = "else" if violations(value, rules["if"], root, place) else "then"
        found += violations(value, rules.get(branch, {}), root, place)
    if isinstance(value, list) and "items" in rules:
        for index, entry in enumerate(value):
            found += violations(entry, rules["items"], root, f"{place}[{index}]")
    if isinstance(value, dict):
        found += _members(value, rules, root, place)
    return found


def _own(value, rules, place):
    if "type" in rules:
        names = rules["type"] if isinstance(rules["type"], list) else [rules["type"]]
        right = any(isinstance(value, TYPES[name])
                    and (name == "boolean" or not isinstance(value, bool)) for name in names)
        if not right:
            yield f"{place}: expected {names}"
    if "const" in rules and value != rules["const"]:
        yield f"{place}: expected {rules['const']!r}"
    if "enum" in rules and value not in rules["enum"]:
        yield f"{place}: {value!r} is none of {rules['enum']}"
    if "pattern" in rules and isinstance(value, str) and not re.search(rules["pattern"], value):
        yield f"{place}: {value[:40]!r} does not match {rules['pattern']}"
    if "minimum" in rules and isinstance(value, int) and value < rules["minimum"]:
        yield f"{place}: less than {rules['minimum']}"
    if "minItems" in rules and isinstance(value, list) and len(value) < rules["minItems"]:
        yield f"{place}: fewer than {rules['minItems']} entries"
    if "minProperties" in rules and isinstance(value, dict) and len(value) < rules["minProperties"]:
        yield f"{place}: fewer than {rules['minProperties']} members"


def _members(value, rules, root, place):
    found = [f"{place}: '{name}' is missing" for name in rules.get("required", [])
             if name not in value]
    properties = rules.get("properties", {})
    others = rules.get("additionalProperties", True)
    for name, entry in value.items():
        if name in properties:
            found += violations(entry, properties[name], root, f"{place}.{name}")
        elif others is False:
            found.append(f"{place}: unknown field '{name}'")
        elif others is not True:
            found += violations(entry, others, root, f"{place}.{name}")
    return found
