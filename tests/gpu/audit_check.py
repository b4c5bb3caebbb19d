#!/usr/bin/env python3
"""audit_check.py TABLE LOG: says which hooked driver functions were bound to the real driver by others than the shim.

TABLE is the hook table (shim/hook/table.def), LOG what audit.c wrote. Exit status 1 when there is such a binding.
"""
import collections
import os
import re
import sys


def hooked_names(table):
    with open(table) as f:
        return set(re.findall(r"^AG_HOOK\((?:GEN|OWN),\s*(\w+)", f.read(), re.M))


def missed(table, log):
    """{(name, way, who)} of hooked names that somebody else than the shim bound to the driver, and the lines read."""
    names, found, lines = hooked_names(table), collections.Counter(), 0
    with open(log) as f:
        for line in f:
            name, way, who = line.rstrip("\n").split(" ", 2)
            lines += 1
            if name in names and not os.path.basename(who).startswith("libautograph"):
                found[name, way, who] += 1
    return found, lines


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    found, lines = missed(sys.argv[1], sys.argv[2])
    for (name, way, who), count in sorted(found.items()):
        print(f"missed: {name} by {way} from {who} ({count})")
    print(f"{lines} bindings to the driver, {len(found)} of hooked names past the shim")
    return bool(found) or not lines


if __name__ == "__main__":
    sys.exit(main())
